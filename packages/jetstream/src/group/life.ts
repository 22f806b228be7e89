import type { HeartbeatSettings, Resurrected, SubscriptionStatus } from 'tidemark/store'
import type { Draft } from './change.ts'
import { type GroupDocument, liveLeases } from './document.ts'
import { countLost, forceAdvance, skipTo } from './position.ts'

/** A change that the group's state does not allow. */
export type Refused = { readonly refused: SubscriptionStatus }

export type StatusOp = { readonly kind: 'status'; readonly status: SubscriptionStatus }
export type GoOnOp = {
  readonly kind: 'goOn'
  readonly heartbeat: Partial<HeartbeatSettings>
  readonly backfillLimit?: number | null
}
export type ResurrectOp = {
  readonly kind: 'resurrect'
  readonly mode: 'continue' | 'skip'
  readonly limit: number | null
}
export type BeatOp = {
  readonly kind: 'beat'
  readonly uid: number
  readonly process: string
  readonly number: number
  readonly processed: number
  readonly failed: number
  readonly filtered: number
}
export type MissOp = { readonly kind: 'miss' }

const ALLOWED: Record<SubscriptionStatus, readonly SubscriptionStatus[]> = {
  ACTIVE: ['PAUSED'],
  PAUSED: ['ACTIVE'],
  // Set by a missed heartbeat only.
  DEAD: [],
  CANCELLED: ['ACTIVE', 'PAUSED', 'DEAD'],
}

export function setStatus(draft: Draft, { status }: StatusOp): Refused | null {
  const { document, now } = draft
  // Cancelling twice changes nothing.
  if (status === 'CANCELLED' && document.status === 'CANCELLED') return null
  if (!ALLOWED[status].includes(document.status)) return { refused: document.status }
  document.status = status
  document.statusAt = now
  if (status === 'ACTIVE') beginEpoch(document, now)
  draft.isChanged = true
  return null
}

/** An existing group starts again: it takes the given settings and counts as alive; a dead one is resurrected. */
export function goOn(draft: Draft, op: GoOnOp): Refused | { readonly resurrected: Resurrected | null } {
  const { document } = draft
  if (document.status === 'CANCELLED') return { refused: 'CANCELLED' }
  document.heartbeat = { ...document.heartbeat, ...op.heartbeat }
  if (op.backfillLimit !== undefined) document.backfillLimit = op.backfillLimit
  const resurrected = document.status === 'DEAD' ? bringBack(draft, document.backfillLimit) : null
  recordBeat(draft, { processed: 0, failed: 0, filtered: 0 })
  return { resurrected }
}

export function resurrect(draft: Draft, { mode, limit }: ResurrectOp): Refused | Resurrected {
  const { document, now } = draft
  if (document.status !== 'DEAD') return { refused: document.status }
  if (mode === 'continue') return bringBack(draft, limit ?? document.backfillLimit)
  const skipped = forceAdvance(draft)
  activate(document, now)
  return { epoch: document.epoch, skipped, lost: tellLost(draft), backfill: false }
}

/** The group continues where it stopped, or so far on that at most `limit` messages are waiting. */
function bringBack(draft: Draft, limit: number | null): Resurrected {
  const { document, now } = draft
  // Clean-up moves the cursors of dead groups too, and depends on the topic: so does whoever comes back.
  draft.changeTopic({ ...draft.topic })
  activate(document, now)
  const skipped = limit === null ? 0 : skipTo(draft, limit)
  if (skipped > 0) countLost(draft, skipped)
  return { epoch: document.epoch, skipped, lost: tellLost(draft), backfill: false }
}

function activate(document: GroupDocument, now: number): void {
  document.status = 'ACTIVE'
  document.statusAt = now
  beginEpoch(document, now)
}

/** Every activation has a clean record. */
function beginEpoch(document: GroupDocument, now: number): void {
  document.epoch++
  document.misses = 0
  document.missedAt = null
  document.lastBeatAt = now
}

function tellLost(draft: Draft): number {
  const { lostDead } = draft.document
  if (lostDead > 0) countLost(draft, lostDead)
  draft.document.lostDead = 0
  draft.isChanged = true
  return lostDead
}

export type Beaten = { readonly status: SubscriptionStatus | 'GONE'; readonly resurrected: Resurrected | null }

/** One that is sent again counts once. */
export function beat(draft: Draft, op: BeatOp): Beaten {
  const { document } = draft
  if (document.uid !== op.uid) return { status: 'GONE', resurrected: null }
  if (document.status === 'CANCELLED') return { status: 'CANCELLED', resurrected: null }
  if ((document.beats[op.process] ?? 0) >= op.number) return { status: document.status, resurrected: null }
  const resurrected = document.status === 'DEAD' ? bringBack(draft, document.backfillLimit) : null
  recordBeat(draft, op)
  const others = Object.entries(document.beats).filter(([process]) => process !== op.process)
  document.beats = Object.fromEntries([...others.slice(-MOST_PROCESSES), [op.process, op.number]])
  return { status: document.status, resurrected }
}

const MOST_PROCESSES = 63
const MINUTE_MS = 60_000

/**
 * A heartbeat clears the misses only if the last miss is older than one timeout: a group that beats once and falls
 * silent again has not recovered.
 */
function recordBeat(
  draft: Draft,
  { processed, failed, filtered }: Pick<BeatOp, 'processed' | 'failed' | 'filtered'>,
): void {
  const { document, now } = draft
  const minute = Math.floor(now / MINUTE_MS)
  const age = minute - document.minute
  document.lastBeatAt = now
  if (document.missedAt === null || document.missedAt < now - document.heartbeat.timeoutMs) document.misses = 0
  document.processed += processed
  document.failed += failed
  document.filtered += filtered
  if (age !== 0) document.previousCount = age === 1 ? document.minuteCount : 0
  document.minuteCount = age === 0 ? document.minuteCount + processed : processed
  document.minute = minute
  draft.isChanged = true
}

export type Missed = {
  readonly misses: number
  readonly of: number
  readonly isDead: boolean
  readonly silentMs: number
}

/** Counts a miss for each full timeout of silence. null: there is none to count. */
export function miss(draft: Draft, _op: MissOp): Missed | null {
  const { document, now } = draft
  const { timeoutMs, deadAfterMisses } = document.heartbeat
  const isSilent = document.lastBeatAt < now - timeoutMs
  const isCounted = document.missedAt !== null && document.missedAt >= now - timeoutMs
  if (document.status !== 'ACTIVE' || !isSilent || isCounted) return null
  document.misses++
  document.missedAt = now
  draft.isChanged = true
  const isDead = document.misses >= deadAfterMisses
  if (isDead) die(document, now)
  return { misses: document.misses, of: deadAfterMisses, isDead, silentMs: now - document.lastBeatAt }
}

/** Its leases expire with it, also those without a deadline. */
function die(document: GroupDocument, now: number): void {
  document.status = 'DEAD'
  document.statusAt = now
  for (const { lease } of liveLeases(document)) lease.deadline = Math.min(lease.deadline ?? now - 1, now - 1)
}

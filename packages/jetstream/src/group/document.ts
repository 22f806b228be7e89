/**
 * The document of a group: everything that the group's claims and settlements read and write, in one message of the
 * topic's stream. It is replaced by compare-and-set, together with the retry pages, dead letters and the topic that a change
 * touches, in one atomic batch.
 */
import type { FailedAttempt, HeartbeatSettings, SubscriptionStatus, Suspects } from 'tidemark/store'
import { endOf, seqOf } from '../entry.ts'
import { type Bits, Slots } from './bitmap.ts'
import { idsOf, type Segment } from './segments.ts'

export type GroupDocument = {
  readonly id: number
  uid: number
  readonly group: string
  status: SubscriptionStatus
  epoch: number
  readonly createdAt: number
  statusAt: number
  /** Last progress. */
  movedAt: number
  moves: number
  /** Everything up to this id was claimed. At the end of an entry: the highest id that the entry could have. */
  cursor: number
  /** The last message up to the cursor. */
  lastId: number
  /** The group gets no message up to this id. */
  start: number
  nextLease: number
  /** Leases below this number that are not live were taken away. */
  floor: number
  leases: Record<string, LiveLease>
  /** Leases that were taken away, the oldest first. */
  expired: ExpiredLease[]
  retries: Retry[]
  pages: PageSummary[]
  nextPage: number
  /** Pages that were stored below this sequence are no longer needed, and may still be there. */
  droppedBelow: number | null
  nextLetter: number
  /** Whether a reset may have returned to messages that are dead-lettered. */
  wasReset: boolean
  heartbeat: HeartbeatSettings
  lastBeatAt: number
  misses: number
  missedAt: number | null
  backfillLimit: number | null
  /** Number of the last heartbeat of each process. */
  beats: Record<string, number>
  processed: number
  failed: number
  filtered: number
  minute: number
  minuteCount: number
  previousCount: number
  lost: number
  lostAt: number | null
  lostAcknowledged: number
  /** Lost while the group was dead, and not reported yet. */
  lostDead: number
  /** Number of dead letters. */
  letters: number
  /** Process that applies the group's changes; only a hint. */
  steward: string | null
  /** Random names of the last commits. */
  commits: string[]
  /** Time of the last commit. */
  at: number
}

export type LiveLease = {
  readonly nonce: string
  /** Request of the claim: one that is repeated finds its lease. */
  readonly request: string
  readonly consumer: string
  readonly claimedAt: number
  deadline: number | null
  readonly size: number
  readonly suspects: Suspects
  settled: Bits
  /** A page of the log… */
  readonly segments?: readonly Segment[]
  /** …or retries, here or in a page of their own. */
  readonly items?: readonly Retry[]
  readonly page?: number
  /** Lowest and highest id of such a page. */
  readonly low?: number
  readonly high?: number
}

type ExpiredLease = {
  readonly number: number
  readonly nonce: string
  readonly settled: Bits
  readonly size: number
  readonly at: number
}

/** A message that waits for redelivery, or is held by a lease of retries. */
export type Retry = {
  readonly id: number
  readonly attempts: number
  readonly version: number
  readonly due: number
  readonly suspect: boolean
  /** Suspects that come back together; null: alone. */
  readonly piece: string | null
  readonly history: readonly FailedAttempt[]
}

export const KINDS = ['failed', 'piece', 'alone'] as const
export type RetryKind = (typeof KINDS)[number]

export const kindOf = ({ suspect, piece }: Retry): RetryKind =>
  !suspect ? 'failed' : piece === null ? 'alone' : 'piece'

/** Retries that are stored apart. */
export type PageSummary = {
  readonly page: number
  readonly count: number
  readonly bytes: number
  readonly low: number
  readonly high: number
  /** Earliest due time of each kind. */
  readonly due: Partial<Record<RetryKind, number>>
}

/** Up to this id the group needs nothing any more. */
export function watermarkOf(document: GroupDocument): number {
  let lowest = document.cursor + 1
  for (const { id } of document.retries) lowest = Math.min(lowest, id)
  for (const { low } of document.pages) lowest = Math.min(lowest, low)
  for (const lease of Object.values(document.leases)) lowest = Math.min(lowest, lowestHeld(lease) ?? lowest)
  return lowest - 1
}

/** Lowest unsettled id; of retries in a page of their own, the lowest that it can be. */
export function lowestHeld(lease: LiveLease): number | undefined {
  if (lease.segments === undefined && lease.items === undefined) return lease.low
  const ids = heldIds(lease)
  return ids.length === 0 ? undefined : Math.min(...ids)
}

const heldIds = ({ segments, items, settled, size }: LiveLease): number[] => {
  const slots = new Slots(settled, size)
  const ids = segments ? idsOf(segments) : (items ?? []).map(({ id }) => id)
  return ids.filter((_, slot) => !slots.has(slot))
}

export const countRetries = ({ retries, pages }: GroupDocument): number =>
  pages.reduce((sum, { count }) => sum + count, retries.length)

export const countInFlight = ({ leases }: GroupDocument): number =>
  Object.values(leases).reduce((sum, { size, settled }) => sum + size - new Slots(settled, size).count, 0)

export const isLive = ({ status }: Pick<GroupDocument, 'status'>): boolean => status === 'ACTIVE' || status === 'PAUSED'

export const liveLeases = ({ leases }: GroupDocument): { readonly number: number; readonly lease: LiveLease }[] =>
  Object.entries(leases).map(([number, lease]) => ({ number: Number(number), lease }))

export type NewGroup = Pick<
  GroupDocument,
  'id' | 'uid' | 'group' | 'cursor' | 'heartbeat' | 'backfillLimit' | 'letters'
> & { readonly lastId: number; readonly now: number }

export const newDocument = ({ now, cursor, ...group }: NewGroup): GroupDocument => ({
  ...group,
  status: 'ACTIVE',
  epoch: 1,
  createdAt: now,
  statusAt: now,
  movedAt: now,
  moves: 0,
  cursor,
  start: cursor,
  nextLease: 1,
  floor: 1,
  leases: {},
  expired: [],
  retries: [],
  pages: [],
  nextPage: 1,
  droppedBelow: null,
  nextLetter: 1,
  wasReset: false,
  lastBeatAt: now,
  misses: 0,
  missedAt: null,
  beats: {},
  processed: 0,
  failed: 0,
  filtered: 0,
  minute: 0,
  minuteCount: 0,
  previousCount: 0,
  lost: 0,
  lostAt: null,
  lostAcknowledged: 0,
  lostDead: 0,
  steward: null,
  commits: [],
  at: now,
})

/** The first sequence that may have an unclaimed message. */
export const nextSeq = (cursor: number): number => (cursor === endOf(seqOf(cursor)) ? seqOf(cursor) + 1 : seqOf(cursor))

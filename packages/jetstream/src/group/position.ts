import { idOf, seqOf } from '../entry.ts'
import { Slots } from './bitmap.ts'
import type { Draft } from './change.ts'
import { countInFlight, countRetries, liveLeases, lowestHeld } from './document.ts'
import { closeLease, heldBy } from './expiry.ts'
import type { Refused } from './life.ts'

export type ResetOp = { readonly kind: 'reset'; readonly cursor: number; readonly lastId: number }
export type AdvanceOp = { readonly kind: 'advance' }
export type LoseOp = {
  readonly kind: 'lose'
  readonly upTo: number
  /** Sequence of the topic for which this was decided. */
  readonly topicSeq: number
}
export type Lost =
  | { readonly count: number; readonly more: boolean }
  /** The topic has changed since: a group may have gone back. */
  | { readonly moved: true }
export type PurgedOp = { readonly kind: 'purged'; readonly below: number }
export type AcknowledgeOp = { readonly kind: 'acknowledge' }

/** Pages of retries that one commit looks through. */
const MOST_PAGES = 64
const ALL = Number.MAX_SAFE_INTEGER

/** Leases end without creating retries, and late settlements of them are stale. */
export function reset(draft: Draft, { cursor, lastId }: ResetOp): Refused | null {
  const { document, now } = draft
  if (document.status === 'CANCELLED') return { refused: 'CANCELLED' }
  // Clean-up must not pass the new position at the same time.
  const { gone } = draft.topic
  draft.changeTopic({ ...draft.topic })
  dropHeld(draft)
  document.cursor = Math.max(cursor, gone - 1)
  document.lastId = Math.max(lastId, Math.min(document.cursor, gone - 1))
  document.start = document.cursor
  document.wasReset = true
  document.epoch++
  document.movedAt = now
  return null
}

/** Moves the cursor to the present. What the group has not done is lost to it; returns how many messages that are. */
export function forceAdvance(draft: Draft): number {
  const { document, now } = draft
  const held = countInFlight(document) + countRetries(document)
  const skipped = skipTo(draft, 0) + held
  dropHeld(draft)
  document.movedAt = now
  draft.isChanged = true
  if (skipped > 0) countLost(draft, skipped)
  return skipped
}

/** Moves the cursor so far that at most `waiting` messages are waiting. Returns the number of skipped ones. */
export function skipTo(draft: Draft, waiting: number): number {
  const { document } = draft
  const ids = idsAfter(draft, document.cursor, ALL)
  const skipped = Math.max(0, ids.length - waiting)
  const last = ids[skipped - 1]
  if (last === undefined) return 0
  document.cursor = last
  document.lastId = last
  document.movedAt = draft.now
  return skipped
}

/** The messages up to an id are removed: what the group still had to do with them is lost to it. */
export function lose(draft: Draft, { upTo, topicSeq }: LoseOp): Lost {
  const { document, facts } = draft
  // A reset, a redrive and a resurrection change the topic: none of them may lose what it has just brought back.
  void facts.topic()
  if (facts.topicSeq !== topicSeq || draft.changedTopic !== undefined) return { moved: true }
  const retries = dropRetries(draft, upTo)
  const held = settleHeld(draft, upTo)
  const count = passOver(draft, upTo) + held.count + retries.count
  const more = held.more || retries.more
  if (count === 0) return { count, more }
  draft.isChanged = true
  if (document.status === 'CANCELLED') return { count: 0, more }
  if (document.status === 'DEAD') {
    document.lostDead += count
    return { count: 0, more }
  }
  countLost(draft, count)
  return { count, more }
}

/** The pages that a reset has dropped are removed from the stream. */
export function purged(draft: Draft, { below }: PurgedOp): null {
  if (draft.document.droppedBelow !== below) return null
  draft.document.droppedBelow = null
  draft.isChanged = true
  return null
}

export function acknowledgeLoss(draft: Draft): { readonly open: number } {
  const { document } = draft
  const open = document.lost - document.lostAcknowledged
  document.lostAcknowledged = document.lost
  draft.isChanged = open > 0 || draft.isChanged
  return { open }
}

export function countLost({ document, now }: Draft, count: number): void {
  document.lost += count
  document.lostAt = now
}

/** The group itself has not moved: movedAt stays. */
function passOver(draft: Draft, upTo: number): number {
  const { document } = draft
  if (document.cursor >= upTo) return 0
  const ids = idsAfter(draft, document.cursor, upTo)
  document.cursor = upTo
  document.lastId = ids.at(-1) ?? document.lastId
  draft.isChanged = true
  return ids.length
}

/** A later settlement of them finds them settled, and succeeds. */
function settleHeld(draft: Draft, upTo: number): { readonly count: number; readonly more: boolean } {
  const affected = liveLeases(draft.document).filter(({ lease }) => (lowestHeld(lease) ?? upTo + 1) <= upTo)
  const now = affected.slice(0, MOST_PAGES)
  draft.loadPages(now.flatMap(({ lease: { page } }) => (page === undefined ? [] : { page })))
  let count = 0
  for (const { number, lease } of now) {
    const slots = new Slots(lease.settled, lease.size)
    for (const [slot, { id }] of heldBy(draft, lease).entries()) if (id <= upTo && slots.take(slot)) count++
    lease.settled = slots.toBits()
    if (slots.count === lease.size) closeLease(draft, number, lease)
  }
  return { count, more: affected.length > now.length && count > 0 }
}

/** A few pages at a time: those that have other messages too are stored anew. */
function dropRetries(draft: Draft, upTo: number): { readonly count: number; readonly more: boolean } {
  const { document } = draft
  const kept = document.retries.filter(({ id }) => id > upTo)
  let count = document.retries.length - kept.length
  document.retries = kept
  const affected = document.pages.filter(({ low }) => low <= upTo)
  const now = affected.slice(0, MOST_PAGES)
  draft.loadPages(now.filter(({ high }) => high > upTo))
  for (const { page, high, count: all } of now) {
    const rest = high <= upTo ? [] : draft.page(page).filter(({ id }) => id > upTo)
    document.pages = document.pages.filter(each => each.page !== page)
    draft.dropPage(page)
    count += all - rest.length
    if (rest.length > 0) document.pages.push(draft.storePage(rest))
  }
  return { count, more: affected.length > now.length }
}

/** Every lease, retry and page. Leases before now count as taken away. */
function dropHeld(draft: Draft): void {
  const { document } = draft
  const held = liveLeases(document).flatMap(({ lease }) => lease.page ?? [])
  draft.dropPages([...held, ...document.pages.map(({ page }) => page)])
  document.leases = {}
  document.pages = []
  document.retries = []
  document.expired = []
  document.floor = document.nextLease
  draft.isChanged = true
}

/** Ids of the messages after one, up to another. */
function idsAfter({ facts }: Draft, after: number, upTo: number): number[] {
  const ids: number[] = []
  for (const { seq, count } of facts.entriesAfter(after, ALL, upTo)) {
    for (let place = 0; place < count; place++) {
      const id = idOf(seq, place)
      if (id > after && id <= upTo) ids.push(id)
    }
    if (seq > seqOf(upTo)) break
  }
  return ids
}

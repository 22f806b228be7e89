import { idOf, seqOf } from '../entry.ts'
import { Slots } from './bitmap.ts'
import type { Draft } from './change.ts'
import { countInFlight, countRetries, liveLeases } from './document.ts'
import { closeLease, heldBy } from './expiry.ts'
import type { Refused } from './life.ts'

export type ResetOp = { readonly kind: 'reset'; readonly cursor: number; readonly lastId: number }
export type AdvanceOp = { readonly kind: 'advance' }
export type LoseOp = { readonly kind: 'lose'; readonly upTo: number }
export type AcknowledgeOp = { readonly kind: 'acknowledge' }

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
export function lose(draft: Draft, { upTo }: LoseOp): { readonly count: number } {
  const { document } = draft
  const count = passOver(draft, upTo) + settleHeld(draft, upTo) + dropRetries(draft, upTo)
  if (count === 0) return { count }
  draft.isChanged = true
  if (document.status === 'CANCELLED') return { count: 0 }
  if (document.status === 'DEAD') {
    document.lostDead += count
    return { count: 0 }
  }
  countLost(draft, count)
  return { count }
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
function settleHeld(draft: Draft, upTo: number): number {
  let count = 0
  for (const { number, lease } of liveLeases(draft.document)) {
    if (lease.low !== undefined && lease.low > upTo) continue
    const slots = new Slots(lease.settled, lease.size)
    for (const [slot, { id }] of heldBy(draft, lease).entries()) if (id <= upTo && slots.take(slot)) count++
    lease.settled = slots.toBits()
    if (slots.count === lease.size) closeLease(draft, number, lease)
  }
  return count
}

function dropRetries(draft: Draft, upTo: number): number {
  const { document } = draft
  const kept = document.retries.filter(({ id }) => id > upTo)
  let count = document.retries.length - kept.length
  document.retries = kept
  for (const { page, low, high } of document.pages.filter(each => each.low <= upTo)) {
    const retries = draft.page(page)
    document.pages = document.pages.filter(each => each.page !== page)
    draft.dropPage(page)
    const rest = high <= upTo ? [] : retries.filter(({ id }) => id > upTo)
    count += retries.length - rest.length
    if (rest.length > 0) document.pages.push(draft.storePage(rest))
    if (low > upTo) break
  }
  return count
}

/** Every lease, retry and page. Leases before now count as taken away. */
function dropHeld(draft: Draft): void {
  const { document } = draft
  for (const { number, lease } of liveLeases(document)) closeLease(draft, number, lease)
  for (const { page } of document.pages) draft.dropPage(page)
  document.pages = []
  document.retries = []
  document.expired = []
  document.floor = document.nextLease
  draft.isChanged = true
}

/** Ids of the messages after one, up to another. */
function idsAfter({ facts }: Draft, after: number, upTo: number): number[] {
  const ids: number[] = []
  for (const { seq, count } of facts.entriesAfter(after, ALL)) {
    for (let place = 0; place < count; place++) {
      const id = idOf(seq, place)
      if (id > after && id <= upTo) ids.push(id)
    }
    if (seq > seqOf(upTo)) break
  }
  return ids
}

import { randomBytes } from 'node:crypto'
import type { ClaimResult, Suspects } from 'tidemark/store'
import { endOf, idOf, placeOf, seqOf } from '../entry.ts'
import type { Draft } from './change.ts'
import { type GroupDocument, type LiveLease, liveLeases, type Retry, type RetryKind } from './document.ts'
import { type Expired, expireLeases, heldBy } from './expiry.ts'
import { countOfPage } from './pages.ts'
import { chooseRetries, nextDue, takeOut } from './retries.ts'
import { addSegment, countSegments, type Segment } from './segments.ts'
import { formatToken } from './token.ts'

export type ClaimOp = {
  readonly kind: 'claim'
  readonly request: string
  /** Process that claims. */
  readonly process: string
  readonly uid: number
  readonly consumer: string
  readonly limit: number
  readonly suspects: Suspects
  readonly leaseMs: number
  readonly maxAttempts: number
  readonly sweep: boolean
  readonly maxBytes?: number
}

/** The lease without its messages, which the claimer reads itself. */
export type ClaimedLease = {
  readonly token: string
  readonly size: number
  readonly suspects: Suspects
  readonly segments?: readonly Segment[]
  readonly items?: readonly Pick<Retry, 'id' | 'attempts' | 'version'>[]
}

export type Claimed = Pick<ClaimResult, 'status' | 'takeOvers' | 'deadLettered' | 'waiting' | 'nextDueMs' | 'moves'> & {
  readonly lease: ClaimedLease | null
}

/** Maximum payload bytes of one claim. */
const MOST_BYTES = 64 * 1024 ** 2
const LARGE_BYTES = 16 * 1024
/** Items of a lease of retries that the document holds itself. */
const MOST_ITEMS = 16
const MOST_ITEM_BYTES = 8 * 1024
/** Segments of a page: entries of one message with gaps between them need one each. */
const MOST_SEGMENTS = 512
/** A document that is larger takes no new pages: it serves its retries first. */
const MOST_DOCUMENT = 512 * 1024
/** Size of a lease: the token has room for it. */
const MOST_SLOTS = 0xffff

/** Ends expired leases, then takes due retries, then the next page of the log. */
export function claim(draft: Draft, op: ClaimOp): Claimed {
  const { document } = draft
  const repeated = liveLeases(document).find(({ lease }) => lease.request === op.request)
  if (repeated !== undefined) return { ...nothing(document), lease: leaseOf(draft, repeated.number, repeated.lease) }
  if (document.status !== 'ACTIVE' || document.uid !== op.uid) return nothing(document, document.uid !== op.uid)
  if (isAhead(draft)) return { ...nothing(document), status: 'AHEAD' }
  const before = document.moves
  const expired: Expired = op.sweep ? expireLeases(draft, op.maxAttempts) : { takeOvers: [], deadLettered: 0 }
  const limit = Math.min(op.limit, MOST_SLOTS)
  const { rows, suspects, waiting } = chooseRetries(draft, { ...op, limit })
  const fitting = rows.slice(0, countFitting(draft, rows, op.maxBytes))
  const lease =
    fitting.length > 0 ? leaseRetries(draft, op, fitting, suspects) : leasePage(draft, op, Math.min(limit, MOST_SLOTS))
  // What was opened and not taken is stored apart again.
  if (draft.isChanged) draft.addRetries([])
  const due = lease === null ? nextDueOf(document, op) : null
  return {
    ...nothing(document),
    ...expired,
    lease,
    waiting,
    nextDueMs: due === null ? null : Math.max(0, due - draft.now),
    moves: { before, after: document.moves },
  }
}

/** The log has lost its newest messages: what is published until the ids catch up would be skipped. */
const isAhead = ({ document, facts }: Draft): boolean => {
  const seq = seqOf(document.cursor)
  return seq > facts.knownSeq && seq > facts.lastSeq()
}

const nothing = ({ status, moves }: GroupDocument, isGone = false): Claimed => ({
  status: isGone ? 'GONE' : status,
  lease: null,
  takeOvers: [],
  deadLettered: 0,
  waiting: 'none',
  nextDueMs: null,
  moves: { before: moves, after: moves },
})

function leaseRetries(draft: Draft, op: ClaimOp, chosen: readonly Retry[], suspects: Suspects): ClaimedLease {
  const rows = chosen.slice(0, countOfPage(chosen))
  takeOut(draft, rows)
  const items = rows.map(row => ({ ...row, attempts: row.attempts + 1, version: row.version + 1 }))
  const isLarge = items.length > MOST_ITEMS || JSON.stringify(items).length > MOST_ITEM_BYTES
  const apart = isLarge ? draft.storePage(items) : undefined
  const held = apart === undefined ? { items } : { page: apart.page, low: apart.low, high: apart.high }
  return addLease(draft, op, { size: items.length, suspects, ...held })
}

function leasePage(draft: Draft, op: ClaimOp, limit: number): ClaimedLease | null {
  const { document, facts } = draft
  const segments: Segment[] = []
  const most = Math.min(op.maxBytes ?? MOST_BYTES, MOST_BYTES)
  let { cursor, lastId } = document
  let size = 0
  let bytes = 0
  let isFull = false
  for (const entry of facts.entriesAfter(cursor, limit)) {
    const from = seqOf(cursor) === entry.seq ? placeOf(cursor) + 1 : 0
    let to = from
    while (to < entry.count && !isFull) {
      const next = bytes + measured(entry.sizeOf(to))
      isFull = size === limit || (size > 0 && next > most)
      if (isFull) break
      bytes = next
      size++
      to++
    }
    if (to > from) {
      addSegment(segments, entry.seq, from, to)
      lastId = idOf(entry.seq, to - 1)
    }
    if (isFull && to === 0) break
    cursor = to >= entry.count ? endOf(entry.seq) : idOf(entry.seq, to - 1)
    if (isFull || size === limit || segments.length === MOST_SEGMENTS) break
  }
  if (size === 0 || weightOf(document) > MOST_DOCUMENT) return null
  document.cursor = cursor
  document.lastId = lastId
  document.moves++
  document.movedAt = draft.now
  return addLease(draft, op, { size: countSegments(segments), suspects: 'none', segments })
}

function addLease(
  draft: Draft,
  op: ClaimOp,
  held: Pick<LiveLease, 'size' | 'suspects' | 'segments' | 'items' | 'page' | 'low' | 'high'>,
): ClaimedLease {
  const { document, now } = draft
  const number = document.nextLease++
  const lease: LiveLease = {
    ...held,
    nonce: randomBytes(4).toString('hex'),
    request: op.request,
    consumer: op.consumer,
    claimedAt: now,
    deadline: op.leaseMs === 0 ? null : now + op.leaseMs,
    settled: null,
  }
  document.leases[number] = lease
  draft.isChanged = true
  return leaseOf(draft, number, lease)
}

function leaseOf(draft: Draft, number: number, lease: LiveLease): ClaimedLease {
  const { size, suspects, segments, nonce } = lease
  const token = formatToken({ subscription: draft.document.id, number, size, nonce })
  if (segments !== undefined) return { token, size, suspects, segments }
  const items = heldBy(draft, lease).map(({ id, attempts, version }) => ({ id, attempts, version }))
  return { token, size, suspects, items }
}

/** Bytes that the document may come to take, when the bits of its leases are set. */
function weightOf({ leases, pages }: GroupDocument): number {
  const bits = Object.values(leases).reduce((sum, { size }) => sum + size / 6, 0)
  return JSON.stringify(leases).length + bits + JSON.stringify(pages).length
}

/** Small payloads are not measured: a page of a thousand has room for them. */
const measured = (bytes: number): number => (bytes > LARGE_BYTES ? bytes : 0)

/** Of retries; the first always fits. */
function countFitting(draft: Draft, rows: readonly Retry[], maxBytes = MOST_BYTES): number {
  let bytes = 0
  draft.facts.load(rows.map(({ id }) => id))
  for (const [index, { id }] of rows.entries()) {
    bytes += measured(draft.facts.message(id)?.payload.length ?? 0)
    if (index > 0 && bytes > Math.min(maxBytes, MOST_BYTES)) return index
  }
  return rows.length
}

/** When the group's next retry is due or its next lease expires, as far as this claim may take them. */
function nextDueOf(document: GroupDocument, { suspects, sweep }: ClaimOp): number | null {
  const kinds: RetryKind[] = ['failed']
  if (suspects !== 'none') kinds.push('piece')
  if (suspects === 'alone') kinds.push('alone')
  const deadlines = sweep ? liveLeases(document).flatMap(({ lease }) => lease.deadline ?? []) : []
  const all = [nextDue(document, kinds), ...deadlines].filter(due => due !== null)
  return all.length === 0 ? null : Math.min(...all)
}

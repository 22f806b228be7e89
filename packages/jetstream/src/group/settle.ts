import { ClaimReleasedError } from 'tidemark'
import type { ReleasedClaimRecord, Settlement, SettleResult } from 'tidemark/store'
import { Slots } from './bitmap.ts'
import type { Draft } from './change.ts'
import type { LiveLease, Retry } from './document.ts'
import { buryMessage, closeLease, endLease, heldBy } from './expiry.ts'
import { parseToken, type Token } from './token.ts'

export type SettleOp = { readonly kind: 'settle'; readonly settlement: Settlement }
export type ExtendOp = { readonly kind: 'extend'; readonly token: string; readonly ms: number }
export type ReleaseOp = { readonly kind: 'release'; readonly token: string; readonly maxAttempts: number }

export function settle(draft: Draft, { settlement }: SettleOp): SettleResult {
  const { token: text, acks, nacks, releases } = settlement
  const token = parseToken(text)
  if (token === undefined) return staleResult(null, settlement, true)
  const lease = liveLease(draft, token)
  if (lease === undefined) {
    prove(draft, token)
    return endedResult(draft, token, settlement)
  }
  if (acks === 'all' && nacks.length === 0 && releases.length === 0) {
    closeLease(draft, token.number, lease)
    return { stale: [], deadLettered: [], finished: true }
  }
  const slots = new Slots(lease.settled, lease.size)
  // A settlement that is sent again changes nothing.
  const before = slots.count
  for (const slot of acks === 'all' ? slots.open() : acks) slots.take(slot)
  const needed = nacks.length + releases.length > 0
  const held = needed ? heldBy(draft, lease) : []
  const failed = nacks.filter(({ slot }) => slots.take(slot))
  const released = releases.filter(slot => slots.take(slot))
  if (slots.count === before) return { stale: [], deadLettered: [], finished: false }
  const { back, deadLettered } = fail(draft, failed, held, settlement.maxAttempts)
  const untried = released.flatMap(slot => {
    const retry = held[slot]
    return retry === undefined ? [] : [giveBack(draft, retry)]
  })
  lease.settled = slots.toBits()
  if (slots.count === lease.size) closeLease(draft, token.number, lease)
  draft.addRetries([...back, ...untried])
  return { stale: [], deadLettered, finished: slots.count === lease.size }
}

function fail(
  draft: Draft,
  nacks: Settlement['nacks'],
  held: readonly Retry[],
  maxAttempts: number,
): { readonly back: Retry[]; readonly deadLettered: number[] } {
  const back: Retry[] = []
  const deadLettered: number[] = []
  const last = nacks.flatMap(({ slot }) => held[slot] ?? []).filter(({ attempts }) => attempts >= maxAttempts)
  draft.facts.load(last.map(({ id }) => id))
  for (const { slot, delayMs, error } of nacks) {
    const retry = held[slot]
    if (retry === undefined) continue
    const history = [...retry.history, { attempt: retry.attempts, at: draft.now, ...error }]
    if (retry.attempts >= maxAttempts) {
      buryMessage(draft, { ...retry, history })
      deadLettered.push(slot)
    } else {
      back.push({ ...retry, history, due: draft.now + delayMs, suspect: false, piece: null })
    }
  }
  return { back, deadLettered }
}

/** Given back untried, it is as suspect as before. */
function giveBack(draft: Draft, retry: Retry): Retry {
  return { ...retry, attempts: retry.attempts - 1, due: draft.now }
}

export function extend(draft: Draft, { token: text, ms }: ExtendOp): boolean {
  const token = parseToken(text)
  const lease = token && liveLease(draft, token)
  if (token !== undefined) prove(draft, token)
  if (lease === undefined) return false
  lease.deadline = ms === 0 ? null : draft.now + ms
  draft.isChanged = true
  return true
}

/** Ends a live lease as if it had expired now. */
export function release(draft: Draft, { token: text, maxAttempts }: ReleaseOp): ReleasedClaimRecord | null {
  const token = parseToken(text)
  const lease = token && liveLease(draft, token)
  if (token === undefined || lease === undefined) return null
  const { name, message } = new ClaimReleasedError(lease.consumer)
  const end = { maxAttempts, dueAt: draft.now, error: { name, message } }
  const { taken, dead } = endLease(draft, token.number, lease, end)
  return { ...taken, group: draft.document.group, deadLettered: dead }
}

function liveLease({ document }: Draft, { number, nonce }: Token): LiveLease | undefined {
  const lease = document.leases[number]
  return lease?.nonce === nonce ? lease : undefined
}

/**
 * A lease that the document has not given out yet is unknown, unless a leader that was replaced has shown an old
 * document: writing it shows that it is the present one.
 */
function prove(draft: Draft, { number }: Token): void {
  if (number >= draft.document.nextLease) draft.isChanged = true
}

/** A lease that is neither live nor was taken away is finished. */
function endedResult({ document }: Draft, { number, nonce }: Token, settlement: Settlement): SettleResult {
  const taken = document.expired.find(each => each.number === number)
  if (taken?.nonce === nonce) return staleResult(new Slots(taken.settled, taken.size), settlement, false)
  const isUnknown = number >= document.nextLease || taken !== undefined || document.leases[number] !== undefined
  if (isUnknown || number < document.floor) return staleResult(null, settlement, isUnknown)
  return { stale: [], deadLettered: [], finished: true }
}

/** What was settled before the lease ended stands and may be repeated. */
function staleResult(
  settled: Slots | null,
  { size, acks, nacks, releases }: Settlement,
  unknown: boolean,
): SettleResult {
  const every = Array.from({ length: size }, (_, slot) => slot)
  const slots = [...(acks === 'all' ? every : acks), ...nacks.map(({ slot }) => slot), ...releases]
  const stale = slots.filter(slot => !(settled?.has(slot) ?? false))
  return { stale, deadLettered: [], finished: true, ...(unknown && { unknown: true }) }
}

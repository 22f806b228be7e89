import { randomUUID } from 'node:crypto'
import { DatabaseError, LeaseExpiredError } from 'tidemark'
import { type FailureRecord, MOST_NAMED, pieceAt, pieceCount, type TakenMessage, type TakeOver } from 'tidemark/store'
import { encodeLetter } from '../letter.ts'
import { Slots } from './bitmap.ts'
import type { Draft } from './change.ts'
import { type GroupDocument, type LiveLease, liveLeases, type Retry } from './document.ts'
import { idsOf } from './segments.ts'
import { formatToken } from './token.ts'

/** How long ended leases are remembered, to tell a late settlement from a repeated one. */
const REMEMBER_MS = 3_600_000
const MOST_REMEMBERED = 256
/** Messages that one commit takes away from their holders, whole leases at a time. */
const MOST_TAKEN = 20_000
const MOST_REMEMBERED_BYTES = 96 * 1024

export type Expired = { readonly takeOvers: TakeOver[]; readonly deadLettered: number }

export function expireLeases(draft: Draft, maxAttempts: number): Expired {
  const takeOvers: TakeOver[] = []
  let deadLettered = 0
  const over = liveLeases(draft.document)
    .filter(({ lease }) => lease.deadline !== null && lease.deadline < draft.now)
    .toSorted((a, b) => (a.lease.deadline ?? 0) - (b.lease.deadline ?? 0))
  let messages = 0
  for (const { number, lease } of over) {
    // The rest follows with the next claim.
    if (messages > MOST_TAKEN || !draft.hasRoomForPages) break
    messages += lease.size
    const { name, message } = new LeaseExpiredError(lease.consumer)
    // Those that have waited longest come first.
    const ended = endLease(draft, number, lease, {
      maxAttempts,
      dueAt: lease.deadline ?? draft.now,
      error: { name, message },
    })
    if (ended.taken.count > 0) takeOvers.push(ended.taken)
    deadLettered += ended.dead
  }
  return { takeOvers, deadLettered }
}

type End = { readonly maxAttempts: number; readonly dueAt: number; readonly error: FailureRecord }

/**
 * Takes a live lease away from its holder. Unsettled messages are retried from `dueAt`, as suspects in pieces; past
 * maxAttempts they become dead letters. If the commit has no room for all of those, the rest stays for the next one.
 */
export function endLease(
  draft: Draft,
  number: number,
  lease: LiveLease,
  { maxAttempts, dueAt, error }: End,
): { readonly taken: TakeOver; readonly dead: number } {
  const { document, now } = draft
  const failed = unsettledOf(draft, lease).map(({ slot, retry }) => ({
    slot,
    retry: { ...retry, history: [...retry.history, { attempt: retry.attempts, at: now, ...error }] },
  }))
  const dead = failed.filter(({ retry }) => retry.attempts >= maxAttempts)
  const taken = failed.filter(({ retry }) => retry.attempts < maxAttempts).map(({ retry }) => retry)
  draft.isChanged = true
  draft.facts.load([...dead, ...failed.slice(0, MOST_NAMED)].map(({ retry }) => retry.id))
  const buried = dead.filter(({ retry }) => draft.hasRoomFor(1) && buryMessage(draft, retry))
  const token = formatToken({ subscription: document.id, number, size: lease.size, nonce: lease.nonce })
  const pieces = piecesOf(taken, maxAttempts)
  draft.addRetries(taken.map((retry, index) => ({ ...retry, due: dueAt, suspect: true, piece: pieces[index] ?? null })))
  const messages = named(draft, taken.slice(0, MOST_NAMED))
  if (buried.length < dead.length) {
    const slots = new Slots(lease.settled, lease.size)
    const kept = new Set(dead.slice(buried.length).map(({ slot }) => slot))
    for (const slot of slots.open()) if (!kept.has(slot)) slots.take(slot)
    lease.settled = slots.toBits()
  } else {
    closeLease(draft, number, lease)
    remember(document, { number, nonce: lease.nonce, settled: lease.settled, size: lease.size, at: now })
  }
  return { taken: { token, consumer: lease.consumer, count: taken.length, messages }, dead: buried.length }
}

/** It is no longer live. */
export function closeLease(draft: Draft, number: number, { page }: LiveLease): void {
  delete draft.document.leases[number]
  if (page !== undefined) draft.dropPage(page)
  draft.isChanged = true
}

/** Nothing below what is forgotten counts as settled. */
function remember(document: GroupDocument, lease: GroupDocument['expired'][number]): void {
  const all = [...document.expired, lease]
  const young = withinBytes(all.filter(({ at }) => at > lease.at - REMEMBER_MS).slice(-MOST_REMEMBERED))
  for (const { number } of all) {
    if (!young.some(each => each.number === number)) document.floor = Math.max(document.floor, number + 1)
  }
  document.expired = young
}

/** The last of them; a lease of many messages has many bits. */
function withinBytes(leases: GroupDocument['expired']): GroupDocument['expired'] {
  let bytes = 0
  const kept = leases.toReversed().filter(lease => {
    bytes += 100 + (lease.settled?.length ?? 0)
    return bytes <= MOST_REMEMBERED_BYTES
  })
  return kept.toReversed()
}

/** Messages of a live lease that are not settled, in slot order. */
function unsettledOf(draft: Draft, lease: LiveLease): { readonly slot: number; readonly retry: Retry }[] {
  const slots = new Slots(lease.settled, lease.size)
  const all = heldBy(draft, lease)
  return all.map((retry, slot) => ({ slot, retry })).filter(({ slot }) => !slots.has(slot))
}

/** Every message of a lease, slot by slot. */
export function heldBy(draft: Pick<Draft, 'page'>, { segments, items, page }: LiveLease): readonly Retry[] {
  if (segments !== undefined) return idsOf(segments).map(firstAttempt)
  return items ?? (page === undefined ? [] : draft.page(page))
}

const firstAttempt = (id: number): Retry => ({
  id,
  attempts: 1,
  version: 1,
  due: 0,
  suspect: false,
  piece: null,
  history: [],
})

/** A message that clean-up has removed leaves nothing to keep. */
export function buryMessage(draft: Draft, { id, attempts, version, history }: Retry): boolean {
  const message = draft.facts.message(id)
  if (message === undefined) {
    if (id < draft.facts.topic().gone) return true
    throw new DatabaseError(`Message ${id} of group '${draft.document.group}' is missing from the log`)
  }
  const last = history.at(-1)
  const error = { name: last?.name ?? 'Error', message: last?.message ?? '' }
  const { group } = draft.document
  const meta = { group, attempts, version, error, history, deadAt: draft.now }
  draft.bury(id, encodeLetter(message, meta, draft.facts.maxBytes))
  return true
}

/** For people to read. */
const named = ({ facts }: Pick<Draft, 'facts'>, retries: readonly Pick<Retry, 'id' | 'version'>[]): TakenMessage[] =>
  retries.map(({ id, version }) => {
    const message = facts.message(id)
    return { id, salt: message?.salt ?? null, messageId: message?.messageId ?? null, version }
  })

/** The piece of each message; null for those on their last attempt. Only messages with equally many left share one. */
function piecesOf(taken: readonly Retry[], maxAttempts: number): (string | null)[] {
  const pieces = new Map<Retry, string>()
  for (const [attempts, alike] of Map.groupBy(taken, each => each.attempts)) {
    const left = maxAttempts - attempts
    if (left <= 1) continue
    const names = Array.from({ length: pieceCount(alike.length, left) }, () => randomUUID().slice(0, 13))
    for (const [place, each] of alike.entries()) {
      pieces.set(each, names[pieceAt(place, alike.length, names.length)] ?? '')
    }
  }
  return taken.map(each => pieces.get(each) ?? null)
}

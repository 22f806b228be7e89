import { randomBytes } from 'node:crypto'
import type { ClaimRequest, ClaimResult, Lease, Leases, RawMessage, Settlement, SettleResult } from 'tidemark/store'
import { jetStreamClaims } from './claims.ts'
import { placeOf, seqOf } from './entry.ts'
import type { ClaimedLease, ClaimOp } from './group/claim.ts'
import { idsOf } from './group/segments.ts'
import { parseToken, topicIdOf } from './group/token.ts'
import { GroupGone, type GroupRef } from './loaded-facts.ts'
import type { LogReader } from './log-reader.ts'
import type { Namespace } from './namespace.ts'
import type { Steward } from './steward.ts'
import type { TopicStore } from './topic-store.ts'

/** Nacks of one change: a commit has room for a limited number of dead letters. */
const MOST_NACKS = 400

/** The leases of the groups. */
export function jetStreamLeases(ns: Namespace, topics: TopicStore, steward: Steward): Leases {
  const refOf = async (token: string): Promise<GroupRef | undefined> => {
    const subscription = parseToken(token)?.subscription
    if (subscription === undefined) return undefined
    const topic = await topics.byId(topicIdOf(subscription))
    return topic && { topic: { id: topic.value.id, uid: topic.value.uid }, id: subscription }
  }
  const settleOne = async (settlement: Settlement): Promise<SettleResult> => {
    const ref = await refOf(settlement.token)
    if (ref === undefined) return unknownLease(settlement)
    try {
      const parts = split(settlement)
      const results: SettleResult[] = []
      for (const part of parts) results.push(await steward.change<'settle'>(ref, { kind: 'settle', settlement: part }))
      // Others may have them at once.
      if (settlement.releases.length > 0) ns.hints.tell(ref.topic.id)
      return merge(results)
    } catch (error) {
      if (error instanceof GroupGone) return unknownLease(settlement)
      throw error
    }
  }
  return {
    claim: request => claim(ns, topics, steward, request),
    settle: settlements => {
      // Those of one lease follow each other; changes of a group that are asked for together share a commit.
      const last = new Map<string, Promise<unknown>>()
      const inOrder = settlements.map(async settlement => {
        const before = last.get(settlement.token)
        const settling = before === undefined ? settleOne(settlement) : before.then(() => settleOne(settlement))
        last.set(settlement.token, settling)
        return await settling
      })
      return Promise.all(inOrder)
    },
    extend: async (token, ms) => {
      const ref = await refOf(token)
      if (ref === undefined) return false
      return await steward.change<'extend'>(ref, { kind: 'extend', token, ms }).catch(falseIfGone)
    },
    size: async token => {
      const ref = await refOf(token)
      const parsed = parseToken(token)
      if (ref === undefined || parsed === undefined) return undefined
      const document = await steward.read(ref).catch(undefinedIfGone)
      if (document === undefined) return undefined
      const { leases, nextLease, expired } = document.value
      const { number, nonce, size } = parsed
      const known = leases[number] ?? expired.find(each => each.number === number)
      if (known !== undefined) return known.nonce === nonce ? size : undefined
      return number < nextLease && number >= document.value.floor ? size : undefined
    },
    receiptKey: async () => Buffer.from((await ns.document()).value.receiptKey, 'base64'),
    forgetReader: (topicId, _subscriptionId, shared) => {
      if (!shared) ns.clearReaders(topicId)
    },
    ...jetStreamClaims(ns, topics, steward),
  }
}

async function claim(ns: Namespace, topics: TopicStore, steward: Steward, request: ClaimRequest): Promise<ClaimResult> {
  const { topic, subscription, consumer, limit, suspects, sweep, maxBytes } = request
  const { maxAttempts, leaseMs } = topic.config
  const op: ClaimOp = {
    kind: 'claim',
    request: randomBytes(6).toString('hex'),
    process: ns.me,
    uid: subscription.uid,
    consumer,
    limit,
    suspects,
    leaseMs: request.leaseMs ?? leaseMs,
    maxAttempts,
    sweep,
    ...(maxBytes !== undefined && { maxBytes }),
  }
  try {
    const ref = { topic: { id: topic.id, uid: topic.uid }, id: subscription.id }
    // At the same time: a claim that waited for it would take half as long again, once a second.
    const recent = topics.recent(topic)
    recent.catch(() => undefined)
    const { lease, ...claimed } = await steward.change<'claim'>(ref, op)
    const { configVersion } = (await recent).value
    const reader = ns.reader(topic)
    return { ...claimed, conflict: false, configVersion, lease: lease && (await withMessages(reader, lease)) }
  } catch (error) {
    if (!(error instanceof GroupGone)) throw error
    const none = { takeOvers: [], deadLettered: 0, waiting: 'none', conflict: false, nextDueMs: null } as const
    return { ...none, status: 'GONE', lease: null, configVersion: 0, moves: { before: 0, after: 0 } }
  }
}

/** The claimer reads the messages itself. */
async function withMessages(reader: LogReader, lease: ClaimedLease): Promise<Lease> {
  const { token, size, suspects, segments, items } = lease
  const ids = segments ? idsOf(segments) : (items ?? []).map(({ id }) => id)
  const read = segments ? await readPage(reader, ids) : await reader.messages(ids)
  const found = read.flatMap((message, slot) => (message === undefined ? [] : [{ message, slot }]))
  const pick = <T>(values: readonly T[]): T[] => found.flatMap(({ slot }) => values[slot] ?? [])
  return {
    token,
    size,
    messages: found.map(({ message }) => message),
    slots: items === undefined && found.length === size ? null : found.map(({ slot }) => slot),
    versions: items ? pick(items.map(({ version }) => version)) : null,
    attempts: items ? pick(items.map(({ attempts }) => attempts)) : null,
    suspects,
  }
}

/** Neighbouring entries are read together. */
async function readPage(reader: LogReader, ids: readonly number[]): Promise<(RawMessage | undefined)[]> {
  // A steward in another process may have sent them with its answer.
  const known = ids.map(id => reader.peekMessage(id))
  if (!known.includes(null)) return known.map(message => message ?? undefined)
  const [first] = ids
  const last = ids.at(-1)
  if (first === undefined || last === undefined) return []
  const entries = await reader.from(seqOf(first), placeOf(first) + ids.length)
  const bySeq = new Map(entries.map(entry => [entry.seq, entry]))
  const found: (RawMessage | undefined)[] = []
  for (const id of ids) found.push(bySeq.get(seqOf(id))?.message(placeOf(id)) ?? (await reader.message(id)))
  return found
}

function split(settlement: Settlement): Settlement[] {
  const { nacks, acks, releases } = settlement
  if (nacks.length <= MOST_NACKS) return [settlement]
  const parts: Settlement[] = []
  for (let from = 0; from < nacks.length; from += MOST_NACKS) {
    parts.push({ ...settlement, acks: [], releases: [], nacks: nacks.slice(from, from + MOST_NACKS) })
  }
  // Acks of all the others come last.
  return [...parts, { ...settlement, nacks: [], acks, releases }]
}

function merge(results: readonly SettleResult[]): SettleResult {
  const last = results.at(-1)
  return {
    stale: results.flatMap(({ stale }) => stale),
    deadLettered: results.flatMap(({ deadLettered }) => deadLettered),
    finished: last?.finished ?? true,
    ...(results.some(({ unknown }) => unknown) && { unknown: true }),
  }
}

function unknownLease({ size, acks, nacks, releases }: Settlement): SettleResult {
  const every = Array.from({ length: size }, (_, slot) => slot)
  const stale = [...(acks === 'all' ? every : acks), ...nacks.map(({ slot }) => slot), ...releases]
  return { stale, deadLettered: [], finished: true, unknown: true }
}

const falseIfGone = (error: unknown): false => {
  if (error instanceof GroupGone) return false
  throw error
}

const undefinedIfGone = (error: unknown): undefined => {
  if (error instanceof GroupGone) return undefined
  throw error
}

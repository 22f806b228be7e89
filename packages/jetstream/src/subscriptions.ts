import { SubscriptionGoneError, TopicConflictError } from 'tidemark'
import {
  DEFAULT_HEARTBEAT,
  type Resurrected,
  readTopicConfig,
  type StartPosition,
  type SubscriptionRecord,
  type SubscriptionSettings,
  type Subscriptions,
  startOf,
  type TopicRecord,
} from 'tidemark/store'
import { idOf, seqOf } from './entry.ts'
import { tombstone } from './group/change.ts'
import { countRetries, type GroupDocument, isLive, newDocument } from './group/document.ts'
import { subscriptionId } from './group/token.ts'
import { GroupGone, type GroupRef } from './loaded-facts.ts'
import { type Namespace, written } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import { before, type Position, positionAt, refuseGone } from './positions.ts'
import { previewReset } from './preview-reset.ts'
import { random52 } from './random.ts'
import { allowed, orGone } from './refusals.ts'
import type { Steward } from './steward.ts'
import { recordOf, type TopicDocument } from './topic-document.ts'
import type { TopicStore } from './topic-store.ts'
import { waitingAfter } from './waiting.ts'

/** The groups of the topics. */
export function jetStreamSubscriptions(ns: Namespace, topics: TopicStore, steward: Steward): Subscriptions {
  const checked = async (topic: TopicRecord, subscription: SubscriptionRecord): Promise<GroupRef> => {
    const { value } = await topics.read(topic)
    const found = await topics.group(value, subscription.id)
    if (found === null || found.value.uid !== subscription.uid) {
      throw new SubscriptionGoneError(topic.name, subscription.group)
    }
    return { topic: { id: topic.id, uid: topic.uid }, id: subscription.id }
  }
  return {
    subscribe: (topic, group, from, settings = {}) => subscribe(ns, topics, steward, topic, group, from, settings),
    find: async (topic, group) => {
      const found = await findGroup(topics, (await topics.read(topic)).value, group)
      return found && subscriptionOf(topic.id, found)
    },
    setStatus: async (topic, subscription, status) => {
      const ref = await checked(topic, subscription)
      const result = await orGone(topic, subscription, steward.change<'status'>(ref, { kind: 'status', status }))
      allowed(topic, subscription, status, result)
    },
    resurrect: async (topic, subscription, { mode, limit }) => {
      const ref = await checked(topic, subscription)
      const op = { kind: 'resurrect', mode, limit } as const
      const result = await orGone(topic, subscription, steward.change<'resurrect'>(ref, op))
      return allowed<Resurrected>(topic, subscription, 'ACTIVE', result)
    },
    resetCursor: async (topic, subscription, to, plan) => {
      const ref = await checked(topic, subscription)
      const { value } = await topics.read(topic)
      const { status } = (await orGone(topic, subscription, steward.read(ref))).value
      if (status === 'CANCELLED') allowed(topic, subscription, 'ACTIVE', { refused: status })
      await refuseGone(ns, value, to)
      const position = await newestOf(ns, value, await positionAt(ns, value, to), plan.maxMessages)
      const op = { kind: 'reset', cursor: position.cursor, lastId: position.lastId } as const
      allowed(topic, subscription, 'ACTIVE', await orGone(topic, subscription, steward.change<'reset'>(ref, op)))
    },
    previewReset: async (topic, subscription, to, most) => {
      const ref = await checked(topic, subscription)
      const { value: topicDocument } = await topics.read(topic)
      const { value } = await orGone(topic, subscription, steward.read(ref))
      if (value.status === 'CANCELLED') allowed(topic, subscription, 'ACTIVE', { refused: value.status })
      return await previewReset(ns, topicDocument, value, to, most)
    },
    forceAdvance: async (topic, subscription) => {
      const ref = await checked(topic, subscription)
      return await orGone(topic, subscription, steward.change<'advance'>(ref, { kind: 'advance' }))
    },
    acknowledgeLoss: async (topic, subscription) => {
      const ref = await checked(topic, subscription)
      const op = { kind: 'acknowledge' } as const
      return (await orGone(topic, subscription, steward.change<'acknowledge'>(ref, op))).open
    },
    remove: (topic, subscription) => remove(ns, topics, topic, subscription),
    ended: async olderThanMs => {
      const all = await allGroups(topics)
      const oldest = ns.clock.now() - olderThanMs
      return all
        .filter(({ group }) => !isLive(group) && group.statusAt <= oldest)
        .map(({ topic, group }) => ({ topic: recordOf(topic), subscription: subscriptionOf(topic.id, group) }))
    },
    zombies: async () => {
      const all = await allGroups(topics)
      const found = await Promise.all(all.map(({ topic, group }) => zombieOf(ns, topic, group)))
      return found.filter(each => each !== undefined)
    },
  }
}

async function subscribe(
  ns: Namespace,
  topics: TopicStore,
  steward: Steward,
  record: TopicRecord,
  group: string,
  from: StartPosition,
  settings: SubscriptionSettings,
): Promise<SubscriptionRecord> {
  const { value } = await topics.read(record)
  const existing = await findGroup(topics, value, group)
  if (existing !== undefined) {
    try {
      return await goOn(steward, record, existing, settings)
    } catch (error) {
      if (!(error instanceof GroupGone)) throw error
    }
  }
  const config = readTopicConfig(value.config)
  if (config.semantics !== record.config.semantics) throw TopicConflictError.ofSemantics(record.name)
  const { start, plan } = startOf({ ...record, config }, from, settings, false)
  const first = await positionAt(ns, value, start)
  const position = await newestOf(ns, value, first, plan.maxMessages)
  const skipped = position === first ? 0 : (await waitingAfter(ns, value, first.cursor, position.cursor)).count
  const created = await topics.change(record, async topic => {
    if (Object.values(topic.groups).includes(group)) return { result: null }
    if (topic.config.semantics !== record.config.semantics) throw TopicConflictError.ofSemantics(record.name)
    const heartbeat = { ...(settings.heartbeatDefaults ?? DEFAULT_HEARTBEAT), ...settings.heartbeat }
    const lowest = before(topic.gone)
    const { cursor, lastId } = position.cursor < lowest.cursor ? lowest : position
    const document = newDocument({
      id: subscriptionId(topic.id, topic.nextGroup),
      uid: random52(),
      group,
      cursor,
      lastId,
      heartbeat,
      backfillLimit: settings.backfillLimit ?? null,
      letters: topic.letters[group] ?? 0,
      now: ns.clock.now(),
    })
    const { [group]: _, ...letters } = topic.letters
    const groups = { ...topic.groups, [document.id]: group }
    return {
      topic: { ...topic, groups, letters, nextGroup: topic.nextGroup + 1 },
      writes: [written(ns.names.group(topicKey(topic), document.id), document, 0)],
      result: document,
    }
  })
  // Another process was faster.
  if (created === null) return await subscribe(ns, topics, steward, record, group, from, settings)
  return { ...subscriptionOf(record.id, created), created: true, skipped }
}

async function goOn(
  steward: Steward,
  topic: TopicRecord,
  group: GroupDocument,
  { heartbeat = {}, backfillLimit }: SubscriptionSettings,
): Promise<SubscriptionRecord> {
  const ref = { topic: { id: topic.id, uid: topic.uid }, id: group.id }
  const given = Object.fromEntries(Object.entries(heartbeat).filter(([, value]) => value !== undefined))
  const op = { kind: 'goOn', heartbeat: given, ...(backfillLimit !== undefined && { backfillLimit }) } as const
  const { resurrected } = allowed<{ readonly resurrected: Resurrected | null }>(
    topic,
    group,
    'ACTIVE',
    await steward.change<'goOn'>(ref, op),
  )
  return { ...subscriptionOf(topic.id, (await steward.read(ref)).value), resurrected }
}

/** The position, or so far on that at most `most` messages follow. */
async function newestOf(
  ns: Namespace,
  topic: TopicDocument,
  position: Position,
  most: number | null,
): Promise<Position> {
  if (most === null) return position
  const ids: number[] = []
  for await (const { seq, count } of ns.reader(topic).walk(seqOf(Math.max(0, position.cursor)))) {
    for (let place = 0; place < count; place++) if (idOf(seq, place) > position.cursor) ids.push(idOf(seq, place))
  }
  const last = ids[ids.length - most - 1]
  return last === undefined ? position : { cursor: last, lastId: last }
}

async function remove(
  ns: Namespace,
  topics: TopicStore,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
): Promise<void> {
  const key = topicKey(topic)
  for (;;) {
    const isDone = await topics.change(topic, async current => {
      const found = await topics.group(current, subscription.id)
      // Another process has removed it.
      if (found === null || found.value.uid !== subscription.uid) return { result: true }
      if (isLive(found.value)) allowed(topic, subscription, 'REMOVED', { refused: found.value.status })
      const { [subscription.id]: group = '', ...groups } = current.groups
      const letters = { ...current.letters, [group]: (current.letters[group] ?? 0) + found.value.letters }
      return {
        topic: { ...current, groups, letters: found.value.letters === 0 ? current.letters : letters },
        writes: [tombstone(ns.names.group(key, subscription.id), found.seq)],
        result: true,
      }
    })
    if (isDone) break
  }
  await ns.client.streams.purge(ns.names.groupStream(key), ns.names.page(key, subscription.id, '*'))
}

export async function findGroup(
  topics: TopicStore,
  topic: TopicDocument,
  group: string,
): Promise<GroupDocument | undefined> {
  const [id] = Object.entries(topic.groups).find(([, name]) => name === group) ?? []
  return id === undefined ? undefined : (await topics.group(topic, Number(id)))?.value
}

export const subscriptionOf = (topicId: number, group: GroupDocument): SubscriptionRecord => ({
  id: group.id,
  uid: group.uid,
  topicId,
  group: group.group,
  status: group.status,
  epoch: group.epoch,
  heartbeat: group.heartbeat,
  created: false,
  skipped: 0,
  resurrected: null,
})

export type TopicGroup = { readonly topic: TopicDocument; readonly group: GroupDocument }

export async function allGroups(topics: TopicStore): Promise<TopicGroup[]> {
  const all = await topics.list()
  const groups = await Promise.all(
    all.map(async ({ value: topic }) => (await topics.groups(topic)).map(({ value: group }) => ({ topic, group }))),
  )
  return groups.flat().toSorted((a, b) => a.group.id - b.group.id)
}

/** A live group that has not moved for long, although messages have waited as long. */
async function zombieOf(
  ns: Namespace,
  topic: TopicDocument,
  group: GroupDocument,
): Promise<Awaited<ReturnType<Subscriptions['zombies']>>[number] | undefined> {
  const record = recordOf(topic)
  const oldest = ns.clock.now() - record.config.zombieTtlMs
  if (!isLive(group) || Math.max(group.movedAt, group.statusAt) >= oldest) return undefined
  const waiting = await waitingAfter(ns, topic, group.cursor)
  const due = [...group.retries.map(each => each.due), ...group.pages.flatMap(each => Object.values(each.due))]
  const isLong = (waiting.oldestAt ?? Number.POSITIVE_INFINITY) < oldest || due.some(each => each < oldest)
  if (!isLong) return undefined
  const subscription = subscriptionOf(topic.id, group)
  return { topic: record, subscription, movedAt: group.movedAt, waiting: waiting.count + countRetries(group) }
}

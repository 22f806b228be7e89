import type { DeadLetters, Jobs } from 'tidemark/store'
import {
  type GroupDescription,
  type GroupMarks,
  type Inspection,
  type LanesQuery,
  type LanesRecord,
  type LogBucket,
  type MessageStateRecord,
  MOST_LETTERS_SEEN,
  positionsOf,
  type Subscriptions,
  type TopicFacts,
  type TopicRecord,
  type TopicStatsRecord,
} from 'tidemark/store'
import { firstRetries, unsettled } from './claims.ts'
import { removable } from './clean-up.ts'
import { describeGroup } from './descriptions.ts'
import { endOf, idOf } from './entry.ts'
import { type GroupDocument, isLive, liveLeases, lowestHeld } from './group/document.ts'
import { lastSeq } from './log.ts'
import type { Namespace, Revision } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import { recordOf, type TopicDocument } from './topic-document.ts'
import type { TopicStore } from './topic-store.ts'
import { waitingAfter } from './waiting.ts'

/** Messages that are looked at to say how many can be removed. */
const MOST_REMOVABLE = 10_000

type Parts = {
  readonly ns: Namespace
  readonly topics: TopicStore
  readonly jobs: Jobs
  readonly letters: DeadLetters
  readonly zombies: Subscriptions['zombies']
}

/** What operators, health checks and metrics read. */
export function jetStreamInspection(parts: Parts): Inspection {
  const { ns, topics, jobs, zombies } = parts
  const read = async (record: TopicRecord): Promise<Topic> => await topicOf(topics, await topics.read(record))
  const stats: Inspection['stats'] = async (_most, withStorage) => {
    const all = await topics.list()
    const each = await Promise.all(all.map(async topic => await statsOf(ns, await topicOf(topics, topic), withStorage)))
    return { now: ns.clock.now(), topics: each, jobs: await jobs.list() }
  }
  const unsubscribedTopics: Inspection['unsubscribedTopics'] = async () => {
    const all = await Promise.all((await topics.list()).map(each => topicOf(topics, each)))
    const found = await Promise.all(
      all
        .filter(({ topic, groups }) => topic.config.semantics === 'pub-sub' && !groups.some(isLive))
        .map(async ({ topic }) => {
          const { count, oldestAt } = await waitingAfter(ns, topic, topic.gone - 1)
          return count === 0 || oldestAt === null ? [] : [{ topic: topic.name, messages: count, oldestAt }]
        }),
    )
    return found.flat()
  }
  return {
    describe: async record => {
      const { topic, groups } = await read(record)
      const { count } = await waitingAfter(ns, topic, topic.gone - 1)
      return {
        messagesPublished: topic.removed + count,
        now: ns.clock.now(),
        groups: await describeAll(ns, topic, groups),
      }
    },
    lanes: async (record, query) => await lanesOf(parts, record, await read(record), query),
    messageStates: async (record, id) => {
      const { topic, groups } = await read(record)
      return await Promise.all(groups.map(group => stateOf(parts, record, topic, group, id)))
    },
    stats,
    examine: async most => {
      // Without a majority reads may still be answered, for a while, and nothing can be stored.
      await ns.clock.probe()
      const all = await Promise.all((await topics.list()).map(each => topicOf(topics, each)))
      return {
        stats: await stats(most, true),
        facts: await Promise.all(all.map(each => factsOf(ns, each))),
        zombies: (await zombies()).map(({ topic, subscription, movedAt, waiting }) => ({
          topic: topic.name,
          group: subscription.group,
          movedAt,
          waiting,
        })),
        unsubscribed: await unsubscribedTopics(),
        horizonHolders: [],
      }
    },
    unsubscribedTopics,
    size: async () => {
      await ns.assertThere()
      const streams = (await ns.client.streams.names(ns.names.prefix())).filter(ns.names.isOwn)
      const infos = await Promise.all(streams.map(stream => ns.client.streams.info(stream)))
      return { bytes: infos.reduce((sum, { state }) => sum + state.bytes, 0), reusableBytes: 0 }
    },
    clock: async () => null,
    poolUse: () => ({ size: 1, busy: 0, waiting: 0 }),
  }
}

type Topic = { readonly topic: TopicDocument; readonly groups: readonly GroupDocument[] }

const topicOf = async (topics: TopicStore, { value: topic }: Revision<TopicDocument>): Promise<Topic> => ({
  topic,
  groups: (await topics.groups(topic)).map(({ value }) => value),
})

const describeAll = (
  ns: Namespace,
  topic: TopicDocument,
  groups: readonly GroupDocument[],
): Promise<GroupDescription[]> => Promise.all(groups.map(group => describeGroup(ns, topic, group)))

/** The first and the last message that are retained. */
async function boundsOf(ns: Namespace, topic: TopicDocument): Promise<{ firstId: number | null; lastId: number }> {
  const { firstId, lastId, isExact } = await waitingAfter(ns, topic, topic.gone - 1)
  if (isExact) return { firstId, lastId: lastId ?? Math.max(0, topic.gone - 1) }
  const seq = await lastSeq(ns, topic)
  const entry = await ns.reader(topic).entry(seq)
  return { firstId, lastId: idOf(seq, Math.max(0, (entry?.count ?? 1) - 1)) }
}

async function statsOf(ns: Namespace, { topic, groups }: Topic, withStorage: boolean): Promise<TopicStatsRecord> {
  const retained = await waitingAfter(ns, topic, topic.gone - 1)
  const { firstId, lastId } = await boundsOf(ns, topic)
  const stream = withStorage ? await ns.client.streams.info(ns.names.logStream(topicKey(topic))) : null
  return {
    topic: topic.name,
    config: recordOf(topic).config,
    messagesPublished: topic.removed + retained.count,
    firstId,
    lastId,
    retained: retained.count,
    storage: stream && {
      removable: (await removable(ns, topic, groups, MOST_REMOVABLE)).count,
      bytes: stream.state.bytes,
      oldestAt: retained.oldestAt,
    },
    groups: await describeAll(ns, topic, groups),
  }
}

async function factsOf(ns: Namespace, { topic, groups }: Topic): Promise<TopicFacts> {
  const held = await Promise.all(groups.filter(isLive).map(group => oldestHeld(ns, topic, group)))
  const times = held.filter(at => at !== undefined)
  // Unlike the last entry, it stays when everything was cleaned up.
  const { state } = await ns.client.streams.info(ns.names.logStream(topicKey(topic)))
  return {
    topic: topic.name,
    createdAt: topic.createdAt,
    heldAt: times.length === 0 ? null : Math.min(...times),
    inconsistencies: groups
      .filter(({ cursor }) => cursor > endOf(state.last_seq))
      .map(({ group }) => `group '${group}' has a cursor beyond the last message`),
    partitions: null,
  }
}

/** Time of the oldest message that a group has claimed or retries, and has not settled. */
async function oldestHeld(ns: Namespace, topic: TopicDocument, group: GroupDocument): Promise<number | undefined> {
  const held = [
    ...group.retries.map(({ id }) => id),
    ...group.pages.map(({ low }) => low),
    ...liveLeases(group).flatMap(({ lease }) => lowestHeld(lease) ?? []),
  ]
  return held.length === 0 ? undefined : (await ns.reader(topic).message(Math.min(...held)))?.createdAt
}

async function lanesOf(
  parts: Parts,
  record: TopicRecord,
  { topic, groups }: Topic,
  query: LanesQuery,
): Promise<LanesRecord> {
  const { ns } = parts
  const { firstId, lastId } = await boundsOf(ns, topic)
  const low = Math.max(query.from ?? firstId ?? 0, firstId ?? 0)
  const high = Math.min(query.to ?? lastId, lastId)
  return {
    now: ns.clock.now(),
    configVersion: topic.configVersion,
    firstId,
    lastId,
    buckets: firstId === null ? [] : await bucketsOf(ns, topic, low, high, query.buckets),
    groups: await Promise.all(
      groups.map(async group => ({
        ...(await describeGroup(ns, topic, group)),
        ...(await marksOf(parts, record, topic, group, { low, high, most: query.most })),
      })),
    ),
  }
}

/** Ids have gaps, so the messages of each part are counted. */
async function bucketsOf(
  ns: Namespace,
  topic: TopicDocument,
  low: number,
  high: number,
  buckets: number,
): Promise<LogBucket[]> {
  const positions = positionsOf(low, high, buckets)
  return await Promise.all(
    positions.map(async (position, n) => {
      const { count, oldestAt } = await waitingAfter(ns, topic, position - 1, (positions[n + 1] ?? high + 1) - 1)
      return { position, at: oldestAt, count }
    }),
  )
}

type Shown = { readonly low: number; readonly high: number; readonly most: number }

async function marksOf(
  { ns, letters }: Parts,
  record: TopicRecord,
  topic: TopicDocument,
  group: GroupDocument,
  { low, high, most }: Shown,
): Promise<GroupMarks> {
  const leases = liveLeases(group).toSorted((a, b) => a.lease.claimedAt - b.lease.claimedAt)
  const held = await Promise.all(
    leases.slice(0, most).map(async ({ lease }) => ({ lease, open: await unsettled(ns, topic, group, lease) })),
  )
  const retries = await firstRetries(ns, topic, group, { after: low - 1, limit: most })
  const dead = group.letters === 0 ? [] : await letters.list(record, { group: group.group, limit: MOST_LETTERS_SEEN })
  const isShown = (id: number): boolean => id >= low && id <= high
  return {
    leases: held
      .filter(({ open }) => open.length > 0)
      .map(({ lease, open }) => ({
        from: Math.min(...open.map(({ id }) => id)),
        to: Math.max(...open.map(({ id }) => id)),
        consumer: lease.consumer,
        until: lease.deadline,
        attempt: Math.max(...open.map(({ attempts }) => attempts)),
      })),
    waitingRetries: retries
      .filter(({ id }) => isShown(id))
      .toSorted((a, b) => a.id - b.id)
      .slice(0, most)
      .map(({ id, due, attempts }) => ({ id, due, attempt: attempts + 1 })),
    deadIds: dead
      .toReversed()
      .slice(0, most)
      .map(({ message }) => message.id)
      .filter(isShown),
  }
}

const NOTHING_HELD = { consumer: null, until: null, attempt: null, deadLetter: null } as const

async function stateOf(
  { ns, letters }: Parts,
  record: TopicRecord,
  topic: TopicDocument,
  group: GroupDocument,
  id: number,
): Promise<MessageStateRecord> {
  const of = { group: group.group, status: group.status, ...NOTHING_HELD }
  const [retry] = await firstRetries(ns, topic, group, { after: id - 1, limit: 1 })
  if (retry?.id === id) return { ...of, state: 'retry', until: retry.due, attempt: retry.attempts + 1 }
  for (const { lease } of liveLeases(group)) {
    const held = (await unsettled(ns, topic, group, lease)).find(each => each.id === id)
    if (held === undefined) continue
    return { ...of, state: 'in-flight', consumer: lease.consumer, until: lease.deadline, attempt: held.attempts }
  }
  const dead = group.letters === 0 ? [] : await letters.list(record, { group: group.group, limit: MOST_LETTERS_SEEN })
  const letter = dead.findLast(({ message }) => message.id === id)
  if (letter !== undefined) return { ...of, state: 'dead-letter', deadLetter: letter.id }
  if (id > group.cursor) return { ...of, state: 'waiting' }
  if (id <= group.start) return { ...of, state: 'not-for-group' }
  return { ...of, state: dead.length === MOST_LETTERS_SEEN ? 'settled' : 'done' }
}

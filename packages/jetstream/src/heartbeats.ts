import type {
  ConsumerRecord,
  Detection,
  GroupActivity,
  Heartbeat,
  HeartbeatResult,
  Heartbeats,
  SparseHistogram,
} from 'tidemark/store'
import { tombstone } from './group/change.ts'
import type { GroupDocument } from './group/document.ts'
import { topicIdOf } from './group/token.ts'
import { GroupGone } from './loaded-facts.ts'
import { type Namespace, parsed } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import type { Steward } from './steward.ts'
import { allGroups, subscriptionOf } from './subscriptions.ts'
import { recordOf, type TopicDocument } from './topic-document.ts'
import type { TopicStore } from './topic-store.ts'

/** What one process reports of a group: a message of its own, which only that process writes. */
type Report = {
  readonly instance: string
  readonly reportedAt: number
  readonly group: {
    readonly claims: number
    readonly claim_conflicts: number
    readonly handler: SparseHistogram
  } | null
  readonly consumers: readonly Omit<ConsumerRecord, 'group' | 'instance' | 'reportedAt'>[]
}

/** Heartbeats of the groups. */
export function jetStreamHeartbeats(ns: Namespace, topics: TopicStore, steward: Steward): Heartbeats {
  let number = 0
  const sendOne = async (beat: Heartbeat): Promise<HeartbeatResult> => {
    const { subscriptionId, subscriptionUid, processed, failed, filtered, activity } = beat
    const gone: HeartbeatResult = { subscriptionId, status: 'GONE', resurrected: null }
    const topic = (await topics.byId(topicIdOf(subscriptionId)))?.value
    if (topic === undefined) return gone
    const ref = { topic: { id: topic.id, uid: topic.uid }, id: subscriptionId }
    const counts = { processed, failed, filtered }
    const op = { kind: 'beat', uid: subscriptionUid, process: ns.me, number: ++number, ...counts } as const
    try {
      const result = await steward.change<'beat'>(ref, op)
      const isThere = result.status !== 'GONE' && result.status !== 'CANCELLED'
      if (isThere && activity !== undefined) await report(ns, steward, topic, subscriptionId, activity)
      return { subscriptionId, ...result }
    } catch (error) {
      if (error instanceof GroupGone) return gone
      throw error
    }
  }
  return {
    send: beats => Promise.all(beats.map(sendOne)),
    consumers: async topic => {
      const { value } = await topics.read(topic)
      const groups = (await topics.groups(value)).map(group => group.value)
      const all = await Promise.all(groups.map(group => consumersOf(ns, value, group)))
      return all.flat()
    },
    detectDead: () => detectDead(ns, topics, steward),
  }
}

async function detectDead(ns: Namespace, topics: TopicStore, steward: Steward): Promise<Detection> {
  const missed: Detection['missed'][number][] = []
  const dead: Detection['dead'][number][] = []
  for (const { topic, group } of await allGroups(topics)) {
    const isSilent = group.status === 'ACTIVE' && group.lastBeatAt < ns.clock.now() - group.heartbeat.timeoutMs
    if (!isSilent || topic.config.semantics !== 'pub-sub') continue
    const ref = { topic: { id: topic.id, uid: topic.uid }, id: group.id }
    const found = await steward.change<'miss'>(ref, { kind: 'miss' }).catch(error => {
      if (error instanceof GroupGone) return null
      throw error
    })
    if (found === null) continue
    const subscription = subscriptionOf(topic.id, group)
    const of = { topic: recordOf(topic), subscription }
    if (found.isDead) {
      dead.push({ ...of, subscription: { ...subscription, status: 'DEAD' }, silentMs: found.silentMs })
    } else missed.push({ ...of, misses: found.misses, of: found.of })
  }
  return { missed, dead }
}

async function report(
  ns: Namespace,
  steward: Steward,
  topic: TopicDocument,
  id: number,
  { instance, group, consumers }: GroupActivity,
): Promise<void> {
  const key = topicKey(topic)
  const subject = ns.names.consumers(key, id, instance)
  if (group === null && consumers.length === 0) {
    await ns.client.storeSurely([tombstone(subject)])
    return
  }
  const now = ns.clock.now()
  const { timeoutMs } = (await steward.read({ topic, id })).value.heartbeat
  const value: Report = {
    instance,
    reportedAt: now,
    group: group && { claims: group.claims, claim_conflicts: group.claimConflicts, handler: group.handler },
    consumers: consumers.map(({ ageMs, idleMs, ...each }) => ({
      ...each,
      startedAt: Math.round(now - ageMs),
      activeAt: idleMs === null ? null : Math.round(now - idleMs),
    })),
  }
  const ttl = Math.max(1, Math.ceil(timeoutMs / 1_000) + 1)
  await ns.client.storeSurely([{ subject, data: Buffer.from(JSON.stringify(value)), ttl }])
}

/** Reports of processes with a heartbeat within the timeout. */
export async function reportsOf(ns: Namespace, topic: TopicDocument, group: GroupDocument): Promise<Report[]> {
  const key = topicKey(topic)
  const stored = await ns.client.lasts(ns.names.groupStream(key), ns.names.consumers(key, group.id, '*'))
  const oldest = ns.clock.now() - group.heartbeat.timeoutMs
  return stored.flatMap(each => parsed<Report>(each)?.value ?? []).filter(({ reportedAt }) => reportedAt >= oldest)
}

async function consumersOf(ns: Namespace, topic: TopicDocument, group: GroupDocument): Promise<ConsumerRecord[]> {
  const reports = await reportsOf(ns, topic, group)
  const order = ({ consumer, instance }: ConsumerRecord): string => `${consumer}\n${instance}`
  return reports
    .flatMap(({ instance, reportedAt, consumers }) =>
      consumers.map(each => ({ ...each, group: group.group, instance, reportedAt })),
    )
    .toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
}

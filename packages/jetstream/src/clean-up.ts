import { type CleanUpStep, readTopicConfig, type TopicConfig, type TopicRecord } from 'tidemark/store'
import { idOf, seqOf } from './entry.ts'
import { type GroupDocument, isLive, watermarkOf } from './group/document.ts'
import { GroupGone, type GroupRef } from './loaded-facts.ts'
import type { Namespace } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import type { Steward } from './steward.ts'
import type { TopicDocument } from './topic-document.ts'
import type { TopicStore } from './topic-store.ts'

const NOTHING: CleanUpStep = { removed: 0, partitionsDropped: 0, lost: [], more: false }

/**
 * Removes up to a batch of messages from the low end. First the groups that would lose something pass over it and count
 * the loss; then the topic's first message moves, by compare-and-set, which fails if a group has gone back meanwhile; then
 * the entries are purged. A run that ends half-way is repeated by the next.
 */
export async function cleanUp(
  ns: Namespace,
  topics: TopicStore,
  steward: Steward,
  record: TopicRecord,
  batchSize: number,
): Promise<CleanUpStep> {
  await topics.examine(record)
  const lost = new Map<string, number>()
  const { removed, gone, more } = await topics.change(record, async (topic, topicSeq) => {
    const groups = (await topics.groups(topic)).map(({ value }) => value)
    await removePages(ns, steward, topic, groups)
    const found = await removable(ns, topic, groups, batchSize)
    if (found.count === 0) return { result: { removed: 0, gone: topic.gone, more: false } }
    for (const group of groups) {
      const count = await loseAll(steward, { topic, id: group.id }, { upTo: found.upTo, topicSeq })
      if (count === 'moved') return 'changed'
      if (count > 0) lost.set(group.group, (lost.get(group.group) ?? 0) + count)
    }
    const next = { ...topic, gone: found.upTo + 1, removed: topic.removed + found.count }
    return { topic: next, result: { removed: found.count, gone: next.gone, more: found.more } }
  })
  await purge(ns, record, gone)
  if (removed === 0) return NOTHING
  return { removed, partitionsDropped: 0, lost: [...lost].map(([group, count]) => ({ group, count })), more }
}

/** 'moved': the topic has changed since, so that a group may have gone back. */
async function loseAll(
  steward: Steward,
  ref: GroupRef,
  what: { readonly upTo: number; readonly topicSeq: number },
): Promise<number | 'moved'> {
  let count = 0
  try {
    for (;;) {
      const lost = await steward.change<'lose'>(ref, { kind: 'lose', ...what })
      if ('moved' in lost) return 'moved'
      count += lost.count
      if (!lost.more) return count
    }
  } catch (error) {
    if (error instanceof GroupGone) return count
    throw error
  }
}

/** Pages of retries that a reset has dropped. */
async function removePages(
  ns: Namespace,
  steward: Steward,
  topic: TopicDocument,
  groups: readonly GroupDocument[],
): Promise<void> {
  const key = topicKey(topic)
  for (const { id, droppedBelow: below } of groups) {
    if (below === null) continue
    await ns.client.streams.purge(ns.names.groupStream(key), ns.names.page(key, id, '*'), below)
    await steward.change<'purged'>({ topic, id }, { kind: 'purged', below }).catch(error => {
      if (!(error instanceof GroupGone)) throw error
    })
  }
}

/** Whole entries below the first retained message. */
async function purge(ns: Namespace, topic: TopicRecord, gone: number): Promise<void> {
  const key = topicKey(topic)
  if (seqOf(gone) > 1) await ns.client.streams.purge(ns.names.logStream(key), ns.names.entries(key), seqOf(gone))
}

export type Removable = { readonly count: number; readonly upTo: number; readonly more: boolean }

/** Messages from the first one on that are past their retention and needed by nobody, or past their maximum age. */
export async function removable(
  ns: Namespace,
  topic: TopicDocument,
  groups: readonly GroupDocument[],
  most: number,
  config: TopicConfig = readTopicConfig(topic.config),
): Promise<Removable> {
  const live = groups.filter(isLive)
  const now = ns.clock.now()
  // A queue's messages wait for whichever group comes.
  const keepMs = live.length === 0 ? config.zeroSubscriptionRetentionMs : config.retentionMs
  const isKept = keepMs === null || (live.length === 0 && config.semantics === 'queue')
  const oldEnough = isKept ? Number.NEGATIVE_INFINITY : now - keepMs
  const tooOld = config.maxRetentionMs === null ? Number.NEGATIVE_INFINITY : now - config.maxRetentionMs
  const watermark = Math.min(...live.map(watermarkOf), Number.MAX_SAFE_INTEGER)
  let count = 0
  let upTo = topic.gone - 1
  for await (const { seq, count: size, at } of ns.reader(topic).walk(seqOf(topic.gone))) {
    for (let place = 0; place < size; place++) {
      const id = idOf(seq, place)
      if (id < topic.gone) continue
      const isDone = at < oldEnough && id <= watermark
      if (!isDone && at >= tooOld) return { count, upTo, more: false }
      if (count === most) return { count, upTo, more: true }
      upTo = id
      count++
    }
  }
  return { count, upTo, more: false }
}

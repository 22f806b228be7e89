import { type GroupDescription, ratePerSecond, sumActivity } from 'tidemark/store'
import { countInFlight, countRetries, type GroupDocument, watermarkOf } from './group/document.ts'
import { reportsOf } from './heartbeats.ts'
import type { Namespace } from './namespace.ts'
import type { TopicDocument } from './topic-document.ts'
import { waitingAfter } from './waiting.ts'

export async function describeGroup(
  ns: Namespace,
  topic: TopicDocument,
  group: GroupDocument,
): Promise<GroupDescription> {
  const waiting = await waitingAfter(ns, topic, group.cursor)
  const reports = await reportsOf(ns, topic, group)
  const watermark = Math.max(0, watermarkOf(group))
  return {
    group: group.group,
    status: group.status,
    cursor: BigInt(Math.max(group.lastId, topic.gone - 1, 0)),
    // At the end of an entry the cursor is beyond its last message.
    watermark: BigInt(watermark === group.cursor ? Math.max(group.lastId, 0) : watermark),
    backlog: waiting.count,
    oldestWaitingAt: waiting.oldestAt,
    inFlight: countInFlight(group),
    retries: countRetries(group),
    deadLetters: group.letters,
    epoch: group.epoch,
    heartbeat: { ...group.heartbeat, lastAt: group.lastBeatAt, misses: group.misses },
    createdAt: group.createdAt,
    movedAt: group.movedAt,
    processed: group.processed,
    failed: group.failed,
    filtered: group.filtered,
    rate: ratePerSecond(group, ns.clock.now()),
    consumers: reports.reduce((sum, { consumers }) => sum + consumers.length, 0),
    ...sumActivity(reports.flatMap(each => each.group ?? [])),
    lost: group.lost,
    lostAt: group.lostAt,
    lostAcknowledged: group.lostAcknowledged,
    backfill: null,
  }
}

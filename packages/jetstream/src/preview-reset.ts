import type { CountedRange, RangeEnd, ResetPreviewRecord, StartPosition } from 'tidemark/store'
import type { GroupDocument } from './group/document.ts'
import type { Namespace } from './namespace.ts'
import { positionAt, refuseGone } from './positions.ts'
import type { TopicDocument } from './topic-document.ts'
import { waitingAfter } from './waiting.ts'

/** What a reset to this position would do. */
export async function previewReset(
  ns: Namespace,
  topic: TopicDocument,
  group: GroupDocument,
  to: StartPosition,
  _most: number,
): Promise<ResetPreviewRecord> {
  await refuseGone(ns, topic, to)
  const { cursor, lastId } = await positionAt(ns, topic, to)
  const [low, high] = [Math.min(group.cursor, cursor), Math.max(group.cursor, cursor)]
  return {
    fromId: group.lastId,
    toId: lastId,
    between: await rangeOf(ns, topic, low, high),
    waiting: await rangeOf(ns, topic, cursor),
  }
}

async function rangeOf(ns: Namespace, topic: TopicDocument, after: number, upTo?: number): Promise<CountedRange> {
  const { count, isExact, firstId, lastId } = await waitingAfter(ns, topic, after, upTo)
  return { count, isExact, first: await endAt(ns, topic, firstId), last: await endAt(ns, topic, lastId) }
}

async function endAt(ns: Namespace, topic: TopicDocument, id: number | null): Promise<RangeEnd | null> {
  const message = id === null ? undefined : await ns.reader(topic).message(id)
  return message === undefined ? null : { id: message.id, at: message.createdAt, key: message.key }
}

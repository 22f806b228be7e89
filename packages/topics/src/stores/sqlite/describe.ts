import type { TopicDescription } from '../inspection.ts'
import type { TopicRecord } from '../topic-record.ts'
import { describeGroups } from './group-rows.ts'
import { boundsOf } from './log-rows.ts'
import type { Transaction } from './transaction.ts'

export function describeTopic(tx: Transaction, topic: TopicRecord): TopicDescription {
  const { next_id } = boundsOf(tx, topic)
  const now = tx.now()
  const groups = describeGroups(tx, { topicId: topic.id, most: -1 }, now)
  return { messagesPublished: next_id - 1, now, groups: groups.map(({ description }) => description) }
}

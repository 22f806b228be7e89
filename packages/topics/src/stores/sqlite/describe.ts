import type { TopicDescription, TopicRecord } from '../store.ts'
import type { Connection } from './connection.ts'
import { describeGroups } from './group-rows.ts'
import { boundsOf } from './log.ts'

export function describeTopic(connection: Connection, topic: TopicRecord): TopicDescription {
  const { next_id } = boundsOf(connection, topic)
  const now = connection.now()
  const groups = describeGroups(connection, { topicId: topic.id, most: -1 }, now)
  return { messagesPublished: next_id - 1, now, groups: groups.map(({ description }) => description) }
}

import type { StatsRecord, TopicStats } from '../fan-out-store.ts'
import type { Connection } from './connection.ts'
import { removable } from './facts.ts'
import { describeGroups } from './group-rows.ts'
import { listJobs } from './jobs.ts'
import { boundsOf } from './log.ts'
import { readTopics } from './topics.ts'

/** To be called in a read transaction. */
export function readStats(connection: Connection, most: number): StatsRecord {
  const now = connection.now()
  const groups = Map.groupBy(describeGroups(connection, { topicId: null, most }, now), ({ topicId }) => topicId)
  const topics = readTopics(connection).map((topic): TopicStats => {
    const described = (groups.get(topic.id) ?? []).map(({ description }) => description)
    return {
      topic: topic.name,
      semantics: topic.config.semantics,
      messagesPublished: boundsOf(connection, topic).next_id - 1,
      removable: removable(connection, topic, described),
      groups: described,
    }
  })
  return { now, topics, jobs: listJobs(connection) }
}

import type { StatsRecord, TopicStatsRecord } from '../inspection.ts'
import { describeGroups } from './group-rows.ts'
import { listJobs } from './jobs.ts'
import { boundsOf } from './log-rows.ts'
import { readTopics } from './topic-rows.ts'
import { topicStorage } from './topic-storage.ts'
import type { Transaction } from './transaction.ts'

/** Call it in a read transaction. */
export function readStats(tx: Transaction, most: number, withStorage: boolean): StatsRecord {
  const now = tx.now()
  const groups = Map.groupBy(describeGroups(tx, { topicId: null, most }, now), ({ topicId }) => topicId)
  const topics = readTopics(tx).map((topic): TopicStatsRecord => {
    const described = (groups.get(topic.id) ?? []).map(({ description }) => description)
    const { first_id, next_id } = boundsOf(tx, topic)
    return {
      topic: topic.name,
      semantics: topic.config.semantics,
      messagesPublished: next_id - 1,
      firstId: first_id < next_id ? first_id : null,
      lastId: next_id - 1,
      retained: next_id - first_id,
      storage: withStorage ? topicStorage(tx, topic, described) : null,
      groups: described,
    }
  })
  return { now, topics, jobs: listJobs(tx) }
}

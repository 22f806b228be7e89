import type { StatsRecord, TopicStatsRecord } from '../inspection.ts'
import { removable } from './facts.ts'
import { describeGroups } from './group-rows.ts'
import { listJobs } from './jobs.ts'
import { boundsOf } from './log-rows.ts'
import { readTopics } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Call it in a read transaction. */
export function readStats(tx: Transaction, most: number): StatsRecord {
  const now = tx.now()
  const groups = Map.groupBy(describeGroups(tx, { topicId: null, most }, now), ({ topicId }) => topicId)
  const topics = readTopics(tx).map((topic): TopicStatsRecord => {
    const described = (groups.get(topic.id) ?? []).map(({ description }) => description)
    return {
      topic: topic.name,
      semantics: topic.config.semantics,
      messagesPublished: boundsOf(tx, topic).next_id - 1,
      removable: removable(tx, topic, described),
      groups: described,
    }
  })
  return { now, topics, jobs: listJobs(tx) }
}

import type { StatsRecord, TopicStatsRecord } from '../inspection.ts'
import type { TopicRecord } from '../topic-record.ts'
import { type DescribedGroup, describeGroups } from './group-rows.ts'
import { listJobs } from './jobs.ts'
import { boundsOf } from './log-rows.ts'
import { readTopics } from './topic-rows.ts'
import { topicStorage } from './topic-storage.ts'
import type { Transaction } from './transaction.ts'

/** Call it in a read transaction. */
export function readStats(tx: Transaction, most: number, withStorage: boolean): StatsRecord {
  const now = tx.now()
  return statsOf(tx, described(tx, most, now), now, withStorage)
}

type DescribedTopic = { readonly topic: TopicRecord; readonly groups: readonly DescribedGroup[] }

/** All topics with their groups. */
export function described(tx: Transaction, most: number, now: number): DescribedTopic[] {
  const groups = Map.groupBy(describeGroups(tx, { topicId: null, most }, now), ({ topicId }) => topicId)
  return readTopics(tx).map(topic => ({ topic, groups: groups.get(topic.id) ?? [] }))
}

export function statsOf(
  tx: Transaction,
  topics: readonly DescribedTopic[],
  now: number,
  withStorage: boolean,
): StatsRecord {
  return { now, topics: topics.map(each => topicStats(tx, each, withStorage)), jobs: listJobs(tx) }
}

function topicStats(tx: Transaction, { topic, groups }: DescribedTopic, withStorage: boolean): TopicStatsRecord {
  const descriptions = groups.map(({ description }) => description)
  const { first_id, next_id } = boundsOf(tx, topic)
  return {
    topic: topic.name,
    config: topic.config,
    messagesPublished: next_id - 1,
    firstId: first_id < next_id ? first_id : null,
    lastId: next_id - 1,
    retained: next_id - first_id,
    storage: withStorage ? topicStorage(tx, topic, descriptions) : null,
    groups: descriptions,
  }
}

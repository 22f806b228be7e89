import type { RunFacts } from '../runs/run-facts.ts'
import type { Looked } from './live-look.ts'
import type { Attention, GraphLive, TopicLive } from './shapes.ts'

/**
 * With more topics it would no longer be an overview, and would be megabytes; the lists of topics and groups page
 * through all of them.
 */
export const MOST_TOPICS = 2_000
export const MOST_GROUPS = 200

/** Everything that the page's overview shows. */
export type Overview = {
  readonly at: Date
  readonly topics: readonly TopicLive[]
  /** Number of topics that are left out. */
  readonly omitted: number
  readonly attention: readonly Attention[]
  readonly pipeline: GraphLive | null
  readonly newestRun: RunFacts | null
}

export const overviewOf = ({ at, topics, attention, pipeline }: Looked, newestRun: RunFacts | null): Overview => ({
  at,
  topics: topics
    .slice(0, MOST_TOPICS)
    .map(topic =>
      topic.groups.length > MOST_GROUPS ? { ...topic, groups: topic.groups.slice(0, MOST_GROUPS) } : topic,
    ),
  omitted: Math.max(0, topics.length - MOST_TOPICS),
  attention,
  pipeline,
  newestRun,
})

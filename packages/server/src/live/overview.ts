import type { RunFacts } from '../runs/run-facts.ts'
import type { Looked } from './live-look.ts'
import type { Attention, GraphLive, TopicLive } from './shapes.ts'

/**
 * With more topics it would no longer be an overview, and would be megabytes; the lists of topics and groups page
 * through all of them.
 */
export const MOST_TOPICS = 2_000
/** Groups of a topic in detail. */
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

/** `detailed`: topics that are shown with all their groups. */
export function overviewOf(
  { at, topics, shown, attention, pipeline }: Looked,
  newestRun: RunFacts | null,
  detailed: readonly string[] = [],
): Overview {
  const listed = shown.slice(0, MOST_TOPICS)
  return {
    at,
    topics: detailed.length === 0 ? listed : listed.map((topic, index) => inDetail(topic, topics[index], detailed)),
    omitted: Math.max(0, topics.length - MOST_TOPICS),
    attention,
    pipeline,
    newestRun,
  }
}

/** `whole`: the same topic with all its groups. */
const inDetail = (topic: TopicLive, whole: TopicLive | undefined, detailed: readonly string[]): TopicLive =>
  whole !== undefined && detailed.includes(topic.topic)
    ? { ...topic, groups: whole.groups.slice(0, MOST_GROUPS) }
    : topic

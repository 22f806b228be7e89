import type { LiveRows } from '../live/live-changes.ts'
import type { Overview } from '../live/overview.ts'
import type { Attention } from '../live/shapes.ts'
import type { ServerEvent } from '../streams/event-stream.ts'
import { type Identity, isLimited, sees } from './identity.ts'

type Data = { readonly topic?: unknown; readonly topics?: unknown; readonly at?: unknown }

/**
 * The part of an event that its reader may see. A reader whose role is limited to topics sees nothing that does not
 * belong to a topic.
 */
export function visibleEvent(identity: Identity, event: ServerEvent): ServerEvent | undefined {
  // That something was missed reveals nothing about it.
  if (!isLimited(identity, 'read') || ['missed', 'hello'].includes(event.event)) return event
  const isVisible = (topic: string): boolean => sees(identity, 'read', topic)
  if (event.event === 'snapshot')
    return { event: 'snapshot', data: visibleOverview(dataOf(event) as Overview, isVisible) }
  if (event.event === 'live') return { event: 'live', data: visibleRows(dataOf(event) as LiveRows, isVisible) }
  const { topic, topics, at } = dataOf(event)
  if (typeof topic === 'string') return sees(identity, 'read', topic) ? event : undefined
  const visible = topicsOf(topics, isVisible)
  if (visible === undefined) return undefined
  const { id, event: name } = event
  return { ...(id !== undefined && { id }), event: name, data: { ...(at !== undefined && { at }), topics: visible } }
}

/** The pipeline and the runs belong to no topic. */
export const visibleOverview = (overview: Overview, isVisible: (topic: string) => boolean): Overview => ({
  at: overview.at,
  topics: overview.topics.filter(({ topic }) => isVisible(topic)),
  omitted: overview.omitted,
  attention: visibleAttention(overview.attention, isVisible),
  pipeline: null,
  newestRun: null,
})

/** Names of topics contain no slash. */
const visibleRows = ({ at, topics, groups, attention }: LiveRows, isVisible: (topic: string) => boolean): LiveRows => ({
  at,
  topics: Object.fromEntries(Object.entries(topics).filter(([topic]) => isVisible(topic))),
  groups: Object.fromEntries(Object.entries(groups).filter(([name]) => isVisible(name.split('/')[0] ?? ''))),
  edges: [],
  ...(attention && { attention: visibleAttention(attention, isVisible) }),
})

const visibleAttention = (all: readonly Attention[], isVisible: (topic: string) => boolean): readonly Attention[] =>
  all.filter(({ topic }) => topic !== undefined && isVisible(topic))

/** Data that is already text can't be filtered, and is not shown. */
const dataOf = (event: ServerEvent): Data =>
  'data' in event && typeof event.data === 'object' && event.data !== null ? event.data : {}

/** undefined: nothing is left. */
function topicsOf(topics: unknown, isVisible: (topic: string) => boolean): object | undefined {
  if (typeof topics !== 'object' || topics === null) return undefined
  if (Array.isArray(topics)) {
    const list = topics.filter(each => typeof each?.topic === 'string' && isVisible(each.topic))
    return list.length === 0 ? undefined : list
  }
  const named = Object.entries(topics).filter(([name]) => isVisible(name))
  return named.length === 0 ? undefined : Object.fromEntries(named)
}

/** Metrics text without series of other topics and series without a topic. */
export function visibleMetrics(identity: Identity, text: string): string {
  if (!isLimited(identity, 'metrics')) return text
  return text
    .split('\n')
    .filter(line => line === '' || line.startsWith('#') || sees(identity, 'metrics', topicOf(line) ?? ''))
    .join('\n')
}

/** Names of topics contain nothing that the format would escape. */
function topicOf(line: string): string | undefined {
  const [, topic] = /[{,]topic="([^"\\]*)"/.exec(line) ?? []
  return topic
}

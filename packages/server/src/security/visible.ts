import type { LiveRows } from '../live/live-changes.ts'
import type { Overview } from '../live/overview.ts'
import type { ServerEvent } from '../streams/event-stream.ts'
import { type Identity, isLimited, sees } from './identity.ts'

type Data = { readonly topic?: unknown; readonly topics?: unknown; readonly at?: unknown }

/** What of an event its reader may see. Of what is not said by topic, a reader whose role is limited to topics sees nothing. */
export function visibleEvent(identity: Identity, event: ServerEvent): ServerEvent | undefined {
  // That something was skipped says nothing of what it was, and neither does who tells it.
  if (!isLimited(identity, 'read') || ['skipped', 'hello'].includes(event.event)) return event
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
  attention: overview.attention.filter(({ topic }) => topic !== undefined && isVisible(topic)),
  pipeline: null,
  newestRun: null,
})

/** Names of topics have no slash. */
const visibleRows = ({ at, topics, groups }: LiveRows, isVisible: (topic: string) => boolean): LiveRows => ({
  at,
  topics: Object.fromEntries(Object.entries(topics).filter(([topic]) => isVisible(topic))),
  groups: Object.fromEntries(Object.entries(groups).filter(([name]) => isVisible(name.split('/')[0] ?? ''))),
  edges: [],
})

/** What was made a text elsewhere can't be looked into, and is not shown. */
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

/** Names of topics have nothing that the format would escape. */
function topicOf(line: string): string | undefined {
  const [, topic] = /[{,]topic="([^"\\]*)"/.exec(line) ?? []
  return topic
}

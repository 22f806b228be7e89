import type { ServerEvent } from '../streams/event-stream.ts'
import { type Identity, isLimited, sees } from './identity.ts'

type Data = { readonly topic?: unknown; readonly topics?: unknown; readonly at?: unknown }

/** What of an event its reader may see. Of what is not said by topic, a reader whose role is limited to topics sees nothing. */
export function visibleEvent(identity: Identity, event: ServerEvent): ServerEvent | undefined {
  // That something was skipped says nothing of what it was.
  if (!isLimited(identity, 'read') || event.event === 'skipped') return event
  const { topic, topics, at } = dataOf(event)
  if (typeof topic === 'string') return sees(identity, 'read', topic) ? event : undefined
  const visible = topicsOf(topics, name => sees(identity, 'read', name))
  if (visible === undefined) return undefined
  const { id, event: name } = event
  return { ...(id !== undefined && { id }), event: name, data: { ...(at !== undefined && { at }), topics: visible } }
}

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

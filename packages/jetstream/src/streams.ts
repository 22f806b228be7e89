import type { TopicName } from './damaged-topic.ts'
import { parsed } from './namespace.ts'
import type { Client } from './nats/client.ts'
import { type Names, topicKey } from './nats/names.ts'
import type { StreamSettings } from './nats/stream-api.ts'
import { settingsOfNamespace, settingsOfTopic } from './stream-settings.ts'
import type { TopicDocument } from './topic-document.ts'

/** What the topics of a namespace lack beside their streams: documents that somebody has purged. */
export async function missingDocuments(client: Client, names: Names): Promise<{ topic: string; what: string }[]> {
  const stored = await client.lasts(names.namespaceStream(), names.inNamespace('t.*'))
  const topics = stored.flatMap(each => parsed<TopicName>(each)?.value ?? []).filter(({ deleting }) => !deleting)
  const found = await Promise.all(
    topics.map(async topic => {
      const key = topicKey(topic)
      const document = parsed<TopicDocument>(await client.last(names.groupStream(key), names.topic(key)))?.value
      if (document === undefined) return [{ topic: topic.name, what: 'its own document' }]
      const filter = names.group(key, '*')
      const { state } = await client.streams.info(names.groupStream(key), { subjects_filter: filter })
      return Object.entries(document.groups)
        .filter(([id]) => state.subjects?.[names.group(key, Number(id))] === undefined)
        .map(([, group]) => ({ topic: topic.name, what: `the document of group '${group}'` }))
    }),
  )
  return found.flat()
}

type NamedStream = { readonly settings: StreamSettings; readonly topic: string | null }

/** Every stream that an existing namespace must have. */
export async function namespaceStreams(client: Client, names: Names): Promise<NamedStream[]> {
  const stored = await client.lasts(names.namespaceStream(), names.inNamespace('t.*'))
  const topics = stored.flatMap(each => parsed<TopicName>(each)?.value ?? [])
  return [
    { settings: settingsOfNamespace(names, 0), topic: null },
    ...topics
      .filter(({ deleting }) => !deleting)
      .flatMap(topic => settingsOfTopic(names, topic, 0).map(settings => ({ settings, topic: topic.name }))),
  ]
}

import { parsed } from './namespace.ts'
import type { Client } from './nats/client.ts'
import type { Names } from './nats/names.ts'
import type { StreamSettings } from './nats/stream-api.ts'
import { settingsOfNamespace, settingsOfTopic } from './stream-settings.ts'

type NamedStream = { readonly settings: StreamSettings; readonly topic: string | null }

/** Every stream that an existing namespace must have. */
export async function namespaceStreams(client: Client, names: Names): Promise<NamedStream[]> {
  const stored = await client.lasts(names.namespaceStream(), names.inNamespace('t.*'))
  const topics = stored.flatMap(
    each => parsed<{ id: number; uid: number; name: string; deleting?: boolean }>(each)?.value ?? [],
  )
  return [
    { settings: settingsOfNamespace(names, 0), topic: null },
    ...topics
      .filter(({ deleting }) => !deleting)
      .flatMap(topic => settingsOfTopic(names, topic, 0).map(settings => ({ settings, topic: topic.name }))),
  ]
}

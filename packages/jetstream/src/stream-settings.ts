import { DatabaseError, TidemarkError } from 'tidemark'
import type { Logger } from 'tidemark/store'
import type { Client } from './nats/client.ts'
import { type Names, topicKey } from './nats/names.ts'
import type { StreamInfo, StreamSettings } from './nats/stream-api.ts'

/** Settings of the stream of the namespace. */
export const settingsOfNamespace = (names: Names, replicas: number): StreamSettings => ({
  name: names.namespaceStream(),
  subjects: [names.inNamespace('>')],
  replicas,
  last: true,
})

/** Settings of the two streams of a topic: the log and the groups. */
export function settingsOfTopic(
  names: Names,
  topic: { readonly id: number; readonly uid: number },
  replicas: number,
): readonly [log: StreamSettings, groups: StreamSettings] {
  const key = topicKey(topic)
  return [
    { name: names.logStream(key), subjects: [names.inLog(key, '>')], replicas },
    { name: names.groupStream(key), subjects: [names.inGroups(key, '>')], replicas, last: true },
  ]
}

type Config = Readonly<Record<string, unknown>>

/**
 * What the guarantees need of a stream. Replicas, placement and a limit of bytes are the operator's. `max_age` or
 * `discard: old` would remove messages that a group has not read; without the others, reads and writes fail.
 */
function needed({ subjects, last = false }: StreamSettings): Config {
  return {
    subjects,
    retention: 'limits',
    discard: 'new',
    allow_direct: true,
    allow_atomic: true,
    allow_msg_ttl: true,
    duplicate_window: 120e9,
    max_msgs_per_subject: last ? 1 : -1,
    max_msgs: -1,
    max_age: 0,
    max_msg_size: -1,
    sealed: false,
    deny_purge: false,
  }
}

/** Names and values of settings that somebody has changed: `max_age is 60000000000, not 0`. */
export function changedSettings({ config }: Pick<StreamInfo, 'config'>, settings: StreamSettings): string[] {
  const found = config as unknown as Config
  return Object.entries(needed(settings)).flatMap(([name, wanted]) => {
    const given = found[name] ?? (typeof wanted === 'boolean' ? false : wanted)
    return same(given, wanted) ? [] : [`${name} is ${JSON.stringify(given)}, not ${JSON.stringify(wanted)}`]
  })
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Sets back what somebody has changed. Returns what that was. */
export async function restoreSettings(client: Client, logger: Logger, settings: StreamSettings): Promise<string[]> {
  const info = await client.streams.info(settings.name)
  const changed = changedSettings(info, settings)
  if (changed.length === 0) return []
  const what = `The settings of stream ${settings.name} at ${client.where} were changed: ${changed.join(', ')}`
  try {
    await client.connection.api(`STREAM.UPDATE.${settings.name}`, { ...info.config, ...needed(settings) })
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error
    const advice = 'Messages may have been lost meanwhile. Set them back, or move the topic to a new stream'
    throw new DatabaseError(`${what}. They can't be set back. ${advice}`, error)
  }
  logger.warn({ stream: settings.name, changed }, 'settings of a stream were changed by somebody, and are set back')
  return changed
}

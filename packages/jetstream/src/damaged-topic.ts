import { DatabaseError } from 'tidemark'
import { mergeTopicConfig, readTopicConfig, type TopicRecord } from 'tidemark/store'
import type { GroupRef } from './loaded-facts.ts'
import { type Namespace, parsed } from './namespace.ts'
import { StreamGone } from './nats/errors.ts'
import { topicKey } from './nats/names.ts'
import { recordOf, type TopicDocument } from './topic-document.ts'

/** A topic's name leads to its id. `deleting`: its streams are being removed. */
export type TopicName = Pick<TopicRecord, 'id' | 'uid' | 'name'> & { readonly deleting?: boolean }

/** A topic lacks a part that nothing but a person removes. It can still be found, to be deleted. */
export class DamagedTopic extends DatabaseError {
  readonly #topic: TopicRecord

  constructor(where: string, topic: TopicRecord, what: string) {
    super(
      `${what} of topic '${topic.name}' does not exist at ${where}: somebody has deleted it, or the servers lost their ` +
        `files. Restore it from a backup (nats stream restore), or delete the topic with deleteTopic('${topic.name}') and ` +
        'configure it again, without its messages',
    )
    this.#topic = topic
  }

  /** With defaults where its document is missing. */
  get topic(): TopicRecord {
    return this.#topic
  }
}

/**
 * Throws if the topic of this name lacks a stream or its document. Returns if it is whole, or was deleted meanwhile: its
 * name goes first, and comes last.
 */
export async function assertWhole({ client, names, location }: Place, { name, uid }: Named): Promise<void> {
  const there = async <T>(work: Promise<T>): Promise<T | null> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof StreamGone) return null
      throw error
    }
  }
  const named = parsed<TopicName>(await there(client.last(names.namespaceStream(), names.topicName(name))))?.value
  if (named === undefined || named.deleting || named.uid !== uid) return
  const key = topicKey(named)
  const stored = await there(client.last(names.groupStream(key), names.topic(key)))
  const document = parsed<TopicDocument>(stored)?.value
  const record = document === undefined ? withoutDocument(named) : recordOf(document)
  for (const stream of [names.logStream(key), names.groupStream(key)]) {
    if ((await there(client.streams.info(stream))) === null)
      throw new DamagedTopic(location, record, `Stream ${stream}`)
  }
  if (document !== undefined) return
  throw new DamagedTopic(location, record, `The document in stream ${names.groupStream(key)}`)
}

type Place = Pick<Namespace, 'client' | 'names' | 'location'>
type Named = Pick<TopicRecord, 'name' | 'uid'>

/** The same for topics of which less is known. */
async function assertAllWhole(ns: Place, isMeant: (topic: Named) => boolean = () => true): Promise<void> {
  const { client, names } = ns
  const stored = await client.lasts(names.namespaceStream(), names.inNamespace('t.*'))
  for (const topic of stored.flatMap(each => parsed<TopicName>(each)?.value ?? [])) {
    if (isMeant(topic)) await assertWhole(ns, topic)
  }
}

export const assertWholeOf = (ns: Place, { topic: { uid } }: GroupRef): Promise<void> =>
  assertAllWhole(ns, topic => topic.uid === uid)

/** The same methods. When one of them finds no stream because a topic has lost it, the caller learns which. */
export function namingDamage<T extends object>(ns: Place, concept: T): T {
  const named = Object.entries(concept).map(([name, method]: [string, unknown]) => {
    if (typeof method !== 'function') return [name, method]
    const call = (...args: unknown[]): unknown => {
      const result: unknown = method.apply(concept, args)
      if (!(result instanceof Promise)) return result
      return result.catch(async error => {
        if (error instanceof StreamGone) await assertAllWhole(ns)
        throw error
      })
    }
    return [name, call]
  })
  return Object.fromEntries(named) as T
}

const withoutDocument = ({ id, uid, name }: TopicName): TopicRecord => ({
  id,
  uid,
  name,
  config: readTopicConfig(mergeTopicConfig(name, undefined, {}, false)),
  configVersion: 0,
})

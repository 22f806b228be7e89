import { randomBytes } from 'node:crypto'
import { DatabaseError, NamespaceGoneError } from 'tidemark'
import { type Logger, NamespaceGuard, type TopicRecord } from 'tidemark/store'
import { Clock } from './clock.ts'
import { Hints } from './hints.ts'
import { LogReader } from './log-reader.ts'
import type { Client } from './nats/client.ts'
import { Conflict, StreamGone } from './nats/errors.ts'
import type { Stored, Write } from './nats/messages.ts'
import { Names, type TopicKey, topicKey } from './nats/names.ts'
import { random52 } from './random.ts'
import { restoreSettings, settingsOfNamespace } from './stream-settings.ts'
import { Turns } from './turns.ts'

export type NamespaceDocument = {
  readonly incarnation: number
  /** Signs receipts. */
  readonly receiptKey: string
  readonly nextTopic: number
  readonly createdAt: number
}

export type NamespaceSettings = {
  readonly namespace: string
  readonly replicas: number
  readonly rowCacheBytes: number
  readonly logger: Logger
}

/** A JSON document in a stream, and the sequence that a change of it must name. */
export type Revision<T> = { readonly value: T; readonly seq: number; readonly at: number }

/** An open namespace: the connection, and what every concept of the store needs. */
export class Namespace {
  readonly client: Client
  readonly names: Names
  readonly clock: Clock
  readonly guard = new NamespaceGuard()
  readonly hints: Hints
  /** Of publishes. */
  readonly turns = new Turns()
  readonly replicas: number
  readonly logger: Logger
  readonly location: string
  /** Name of this process among the others. */
  readonly me = randomBytes(6).toString('hex')
  readonly #rowCacheBytes: number
  readonly #readers = new Map<TopicKey, LogReader>()
  #incarnation = 0

  private constructor(client: Client, { namespace, replicas, rowCacheBytes, logger }: NamespaceSettings) {
    this.client = client
    this.names = new Names(namespace)
    this.clock = new Clock(client, this.names)
    this.hints = new Hints(client.connection, this.names)
    this.replicas = replicas
    this.logger = logger
    this.location = `${client.where}, namespace '${namespace}'`
    this.#rowCacheBytes = rowCacheBytes
  }

  /** Creates the namespace if there is none. */
  static async open(client: Client, settings: NamespaceSettings): Promise<Namespace> {
    requireRoom(client)
    const namespace = new Namespace(client, settings)
    const { names, replicas, logger } = namespace
    const stream = settingsOfNamespace(names, replicas)
    if ((await namespace.#found()) === null) await namespace.#assertNew()
    await client.streams.create(stream)
    await restoreSettings(client, logger, stream)
    const made: NamespaceDocument = {
      incarnation: random52(),
      receiptKey: randomBytes(32).toString('base64'),
      nextTopic: 1,
      createdAt: Date.now(),
    }
    await client.storeSurely([written(names.namespaceDocument(), made, 0)], true).catch(error => {
      if (!(error instanceof Conflict)) throw error
    })
    namespace.#incarnation = (await namespace.#document())?.value.incarnation ?? 0
    await namespace.clock.probe()
    return namespace
  }

  async document(): Promise<Revision<NamespaceDocument>> {
    this.guard.assertThere()
    const found = await this.#found()
    if (found === null) throw this.guard.gone(new NamespaceGoneError(this.location, 'dropped'))
    if (found.value.incarnation !== this.#incarnation) {
      throw this.guard.gone(new NamespaceGoneError(this.location, 'dropped and made again'))
    }
    return found
  }

  /** Throws if the namespace was dropped, or is another one of the same name. */
  async assertThere(): Promise<void> {
    await this.document()
  }

  reader(topic: Pick<TopicRecord, 'id' | 'uid'>): LogReader {
    const key = topicKey(topic)
    let reader = this.#readers.get(key)
    if (reader === undefined) {
      const { client, names } = this
      reader = new LogReader(client, names.logStream(key), names.entries(key), this.#rowCacheBytes)
      this.#readers.set(key, reader)
    }
    return reader
  }

  forgetReader(topic: Pick<TopicRecord, 'id' | 'uid'>): void {
    this.#readers.delete(topicKey(topic))
  }

  /** Drops what was read of a topic: no other group of this process wants it. */
  clearReaders(topicId: number): void {
    for (const [key, reader] of this.#readers) if (key.startsWith(`${topicId}-`)) reader.clear()
  }

  async #found(): Promise<Revision<NamespaceDocument> | null> {
    return await this.#document().catch(error => {
      if (error instanceof StreamGone) return null
      throw error
    })
  }

  /** A new namespace would hide what the streams of topics still hold. */
  async #assertNew(): Promise<void> {
    const { client, names, location } = this
    const streams = (await client.streams.names(names.prefix())).filter(names.isOwn)
    const topics = streams.filter(stream => stream !== names.namespaceStream())
    // Another process may be the first, and be faster.
    if (topics.length === 0 || (await this.#found()) !== null) return
    throw new DatabaseError(
      `The namespace at ${location} has ${topics.length} streams of topics, such as ${topics[0]}, but no document in stream ` +
        `${names.namespaceStream()}: somebody has deleted or purged it. Restore it from a backup (nats stream restore), or ` +
        'delete the other streams to begin anew, without their messages',
    )
  }

  async #document(): Promise<Revision<NamespaceDocument> | null> {
    return parsed(await this.client.last(this.names.namespaceStream(), this.names.namespaceDocument()))
  }
}

/** The default of the servers. Documents and pages of retries take up to half of it. */
const LEAST_PAYLOAD = 1024 * 1024

function requireRoom({ where, connection: { maxPayload } }: Client): void {
  if (maxPayload >= LEAST_PAYLOAD) return
  const what = `The NATS server at ${where} takes messages of ${maxPayload} bytes; Tidemark needs ${LEAST_PAYLOAD}`
  throw new DatabaseError(`${what}. Raise max_payload in the configuration of every server`)
}

/** null if there is none, or a tombstone. */
export function parsed<T>(stored: Stored | null): Revision<T> | null {
  if (stored === null || stored.data.length === 0) return null
  return { value: JSON.parse(Buffer.from(stored.data).toString()) as T, seq: stored.seq, at: stored.at }
}

export const written = (subject: string, value: unknown, expected: number): Write => ({
  subject,
  data: Buffer.from(JSON.stringify(value)),
  expected,
})

import { isThenable } from '../errors/failure.ts'
import { ConfigError, PayloadError, TopicNotFoundError, TransactionError } from '../errors.ts'
import { Options } from '../options/options.ts'
import { messageIdOf } from '../payload/message-id.ts'
import { type Schema, validate } from '../payload/schema.ts'
import type { Runtime } from '../runtime.ts'
import type { OutgoingMessage, PublishedMessage } from '../stores/log.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { GroupCommit } from './group-commit.ts'
import {
  checkMessageOptions,
  checkPublishOptions,
  checkSize,
  type MessageOptions,
  type PublishOptions,
  type SyncPublishOptions,
  toBatch,
  toOutgoing,
} from './outgoing.ts'
import type { PublishedRef } from './published-ref.ts'

/** A message of `publishMessages`. */
export type BatchMessage<Payload = unknown> = MessageOptions & {
  /** Payload of the message. */
  readonly payload: Payload
}

/**
 * Stores messages: encodes, validates and measures them, finds their topic, and leaves the transaction to the group
 * commit. A schema given to a topic handle takes precedence over the one given to `open`.
 */
export class Publisher {
  readonly #runtime: Runtime
  readonly #groupCommit: GroupCommit

  constructor(runtime: Runtime) {
    this.#runtime = runtime
    const { store, instrumentation, wakeHub } = runtime
    this.#groupCommit = new GroupCommit(store, instrumentation, topicId => wakeHub.wake(topicId))
  }

  async publish(
    topic: string,
    payload: unknown,
    options: PublishOptions | undefined,
    schema = this.#runtime.schemas.get(topic),
  ): Promise<PublishedRef> {
    this.#runtime.assertOpen()
    const given = options === undefined ? undefined : checkPublishOptions('publish', options)
    const outgoing = toOutgoing(this.#runtime.codec, payload, given)
    if (schema !== undefined) {
      const checked = this.#check(topic, schema, outgoing)
      if (isThenable(checked)) await checked
    }
    const record = this.#runtime.topics.cached(topic) ?? (await this.#findTopic(topic, given?.tx))
    checkSize(record, outgoing)
    const [published] = await this.#store(record, [outgoing], given?.tx)
    if (published === undefined) throw new PayloadError('The database stored nothing')
    return toRef(record, outgoing, published)
  }

  publishSync(
    topic: string,
    payload: unknown,
    options: SyncPublishOptions,
    schema = this.#runtime.schemas.get(topic),
  ): PublishedRef {
    this.#runtime.assertOpen()
    const given = checkPublishOptions('publishSync', options)
    if (given.tx === undefined) throw new ConfigError('publishSync.tx', undefined, 'your own open transaction')
    const outgoing = toOutgoing(this.#runtime.codec, payload, given)
    const checked = schema && this.#check(topic, schema, outgoing)
    if (isThenable(checked)) {
      // Its result comes too late.
      Promise.resolve(checked).catch(() => undefined)
      throw new ConfigError('publishSync', topic, 'a topic whose schema validates synchronously; else await publish()')
    }
    const record = this.#runtime.topics.getInSync(given.tx, topic)
    if (record !== undefined) checkSize(record, outgoing)
    const [published] = (record && this.#groupCommit.publishInSync(given.tx, record, [outgoing])) ?? []
    if (record === undefined || published === undefined) throw TransactionError.isNotSynchronous()
    return toRef(record, outgoing, published)
  }

  async publishBatch(
    topic: string,
    payloads: readonly unknown[],
    given: Pick<PublishOptions, 'tx'> | undefined,
    schema = this.#runtime.schemas.get(topic),
  ): Promise<PublishedRef[]> {
    this.#runtime.assertOpen()
    if (!Array.isArray(payloads)) throw new PayloadError('publishBatch takes an array of payloads')
    const tx = txOf('publishBatch', given)
    const batch = toBatch(topic, payloads, payload => toOutgoing(this.#runtime.codec, payload))
    return await this.#publishAll(topic, batch, tx, schema)
  }

  async publishMessages(
    topic: string,
    messages: readonly BatchMessage[],
    given: Pick<PublishOptions, 'tx'> | undefined,
    schema = this.#runtime.schemas.get(topic),
  ): Promise<PublishedRef[]> {
    this.#runtime.assertOpen()
    if (!Array.isArray(messages)) throw notMessages()
    const tx = txOf('publishMessages', given)
    const batch = toBatch(topic, messages, message => toOutgoing(this.#runtime.codec, ...parted(message)))
    return await this.#publishAll(topic, batch, tx, schema)
  }

  /** Resolves when everything published so far is stored or refused. */
  async drain(): Promise<void> {
    await this.#groupCommit.drain()
  }

  async #publishAll(
    topic: string,
    outgoing: readonly OutgoingMessage[],
    tx: unknown,
    schema: Schema | undefined,
  ): Promise<PublishedRef[]> {
    if (schema !== undefined) await Promise.all(outgoing.map(message => this.#check(topic, schema, message)))
    const record = this.#runtime.topics.cached(topic) ?? (await this.#findTopic(topic, tx))
    for (const message of outgoing) checkSize(record, message)
    if (outgoing.length === 0) return []
    const published = await this.#store(record, outgoing, tx)
    return published.map((each, index) => toRef(record, outgoing[index], each))
  }

  /**
   * The schema sees what consumers will see: the stored payload, decoded again. A `Date` is a string by then, so a
   * schema that would reject it at every delivery rejects it here. The payload is stored as given; a schema's
   * transformations and defaults are applied on consumption.
   */
  #check(topic: string, schema: Schema, { payload, type }: OutgoingMessage): unknown {
    return validate(schema, topic, this.#runtime.codec.decode({ id: 0, payload, type }))
  }

  async #findTopic(name: string, tx: unknown): Promise<TopicRecord> {
    const { topics } = this.#runtime
    return tx === undefined ? await topics.get(name) : await topics.getIn(tx, name)
  }

  #store(topic: TopicRecord, messages: readonly OutgoingMessage[], tx: unknown): Promise<PublishedMessage[]> {
    const publishing =
      tx === undefined ? this.#groupCommit.publish(topic, messages) : this.#groupCommit.publishIn(tx, topic, messages)
    return publishing.catch((error: unknown) => {
      // Deleted by another process: the next publish looks it up again.
      if (error instanceof TopicNotFoundError) this.#runtime.topics.forget(topic.name)
      throw error
    })
  }
}

/** All messages of a batch share one transaction. */
function txOf(what: string, given: Pick<PublishOptions, 'tx'> | undefined): unknown {
  const options = new Options(what, given)
  const tx = options.value('tx')
  options.done()
  return tx
}

const notMessages = (): PayloadError => new PayloadError('publishMessages takes an array of { payload, key, … }')

function parted(message: BatchMessage): [unknown, MessageOptions] {
  if (typeof message !== 'object' || message === null) throw notMessages()
  const { payload, ...options } = message
  return [payload, checkMessageOptions('publishMessages', options)]
}

const toRef = (
  topic: TopicRecord,
  outgoing: OutgoingMessage | undefined,
  { id, salt, duplicate }: PublishedMessage,
): PublishedRef => ({
  topic: topic.name,
  id,
  messageId: outgoing?.messageId ?? messageIdOf(topic.uid, salt, id),
  duplicate,
})

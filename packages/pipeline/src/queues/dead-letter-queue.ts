import { fromBinary } from '@bufbuild/protobuf'
import { ConfigError, type Delivery, type Reader, type Tidemark, TopicConflictError } from 'tidemark'
import {
  type DeadLetterMessage,
  DeadLetterMessageSchema,
} from '../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { type DeadLetter, deadLetterMessage, deadLetterOf } from '../contracts/notifications.ts'
import { wholeNumber } from '../options.ts'
import { type UnfinishedLetters, unfinishedByOffset, unfinishedByReference } from './unfinished-letters.ts'

/** Topic of ticks and metadata that could not be stored. */
export const DEAD_LETTER_TOPIC = 'dead-letters'

/** Maximum bytes per transaction: a batch that is given up can have a thousand ticks of megabytes each. */
const CHUNK_BYTES = 8 * 1024 ** 2
/** The maximum of a topic; a tick has at most 64 MiB. */
const MAX_MESSAGE_BYTES = 255 * 1024 ** 2
/** How often the process that holds a letter may be killed; after that, the topic's own dead letters keep it. */
const MAX_ATTEMPTS = 1_000
/** The consumer group of the letters; everybody who takes one is a member. */
const GROUP = 'letters'
/** Nobody may process them for years: the group must not be declared dead. */
const NEVER = '36500d'

/** Longer than it takes to go through the others. */
const COMES_BACK = '2s'
const HELD_BYTES = 32 * 1024 ** 2

/** A dead letter that was read and not taken. */
export type KeptLetter = Pick<TakenLetter, 'letter' | 'messageId' | 'buriedAt'>
/** The `place` of the last letter is where the next page begins. */
type PlacedLetter = KeptLetter & { readonly place: number }

/** A page of dead letters. */
export type LetterPage = {
  /** Dead letters of the page. */
  readonly letters: readonly PlacedLetter[]
  /** Value of `after` for the next page; null on the last page. */
  readonly next: number | null
}

/** A dead letter that no other caller gets until it is removed or put back. */
export type TakenLetter = {
  /** The dead letter. */
  readonly letter: DeadLetter
  /** Id of its message. */
  readonly messageId: string
  /** Time at which it was dead-lettered. */
  readonly buriedAt: Date
  /** Removes it permanently. */
  remove(): Promise<void>
  /** Makes it available again. */
  putBack(): Promise<void>
}

/** Dead letters, kept in a topic until a person or a program has processed them. */
export class DeadLetterQueue {
  /** Name of the topic. */
  readonly topic: string
  readonly #topics: Tidemark
  readonly #unfinished: UnfinishedLetters

  static async open(topics: Tidemark, { topic = DEAD_LETTER_TOPIC } = {}): Promise<DeadLetterQueue> {
    const queue = new DeadLetterQueue(topics, topic, await configure(topics, topic))
    // From the start, so that no letter is removed before somebody has asked for it.
    await using reader = queue.#reader()
    await reader.ready()
    return queue
  }

  private constructor(topics: Tidemark, topic: string, unfinished: UnfinishedLetters) {
    this.#topics = topics
    this.topic = topic
    this.#unfinished = unfinished
  }

  /** Stores dead letters durably. If it rejects, some may be stored; after another call a letter may be there twice. */
  async put(letters: Iterable<DeadLetter>): Promise<void> {
    let chunk: DeadLetterMessage[] = []
    let bytes = 0
    for (const letter of letters) {
      if (chunk.length > 0 && bytes + letter.originalMessage.length > CHUNK_BYTES) {
        await this.#topics.publishBatch(this.topic, chunk)
        chunk = []
        bytes = 0
      }
      chunk.push(deadLetterMessage(letter))
      bytes += letter.originalMessage.length
    }
    await this.#topics.publishBatch(this.topic, chunk)
  }

  /** Number of dead letters, including those that are taken. */
  async count(): Promise<number> {
    const { groups } = await this.#topics.admin.describeTopic(this.topic)
    return groups.reduce((sum, { backlog, inFlight, retries }) => sum + backlog + inFlight + retries, 0)
  }

  /** Lists dead letters, the oldest first, whether or not they are taken. Takes none. */
  async list({ limit = 100 }: { readonly limit?: number } = {}): Promise<DeadLetter[]> {
    const { letters } = await this.page({ limit })
    return letters.map(({ letter }) => letter)
  }

  /** Lists dead letters with their places. A page begins after the place `after`. */
  async page({
    after = 0,
    limit = 100,
  }: {
    readonly after?: number
    readonly limit?: number
  } = {}): Promise<LetterPage> {
    const { admin } = this.#topics
    const letters: PlacedLetter[] = []
    const waiting = await this.#unfinished({ after, limit })
    // One by one: a letter can have megabytes.
    for (const id of waiting) {
      const { messages } = await admin.browse(this.topic, { after: id - 1, before: id + 1 })
      for (const { messageId, payload, createdAt } of messages) {
        letters.push({ letter: readLetter(payload), messageId, buriedAt: createdAt, place: id })
      }
    }
    return { letters, next: waiting.length < limit ? null : (waiting.at(-1) ?? null) }
  }

  /**
   * Passes each dead letter that is not taken to a callback, which returns whether it was processed. The others are
   * put back at the end; if they are too large to be held that long, one by one.
   */
  async eachTaken(visit: (letter: KeptLetter) => Promise<'done' | 'keep'>): Promise<void> {
    await using reader = this.#reader()
    const seen = new Set<string>()
    const kept: Delivery<DeadLetterMessage>[] = []
    let bytes = 0
    try {
      for (let delivery = await reader.poll(0); delivery !== null; delivery = await reader.poll(0)) {
        const { messageId, createdAt: buriedAt, payload } = delivery
        if (seen.has(messageId)) {
          kept.push(delivery)
          return
        }
        seen.add(messageId)
        const letter = deadLetterOf(payload)
        if ((await visit({ letter, messageId, buriedAt })) === 'done') await delivery.ack()
        else if (bytes + letter.originalMessage.length > HELD_BYTES)
          await delivery.nack('Put back', { delay: COMES_BACK })
        else {
          bytes += letter.originalMessage.length
          kept.push(delivery)
        }
      }
    } finally {
      await Promise.all(kept.map(delivery => delivery.nack('Put back', { delay: 0 })))
    }
  }

  /**
   * Takes dead letters that are not taken, the oldest first. When disposed, it puts back those that were neither
   * removed nor put back.
   */
  async take({ limit = 1 }: { readonly limit?: number } = {}): Promise<TakenLetters> {
    wholeNumber('limit', limit, { min: 1, max: 10_000 })
    const reader = this.#reader(limit)
    const letters: TakenLetter[] = []
    try {
      while (letters.length < limit) {
        const delivery = await reader.poll(0)
        if (delivery === null) break
        letters.push(takenLetter(delivery))
      }
    } catch (error) {
      await reader.close()
      throw error
    }
    return { letters, [Symbol.asyncDispose]: () => reader.close() }
  }

  #reader(batchSize = 1): Reader<DeadLetterMessage> {
    const heartbeat = { timeout: NEVER } as const
    return this.#topics.reader(this.topic, { group: GROUP, from: 'beginning', heartbeat, batchSize })
  }
}

const OPTIONS = {
  semantics: 'pub-sub',
  maxRetention: 'none',
  maxMessageBytes: MAX_MESSAGE_BYTES,
  maxAttempts: MAX_ATTEMPTS,
  backoff: { initial: 0, max: 0 },
} as const

/**
 * With reference tracking where there is one, because that records for each letter whether it was removed, which an offset
 * does not know without a claim. A topic created by an earlier version that has never had a letter is recreated.
 */
async function configure(topics: Tidemark, topic: string): Promise<UnfinishedLetters> {
  const setUp = async (): Promise<UnfinishedLetters> => {
    try {
      await topics.configureTopic(topic, { ...OPTIONS, tracking: 'reference' })
      return unfinishedByReference(topics, topic)
    } catch (error) {
      // NATS JetStream has none.
      if (!(error instanceof ConfigError) || error.option !== 'configureTopic.tracking') throw error
      await topics.configureTopic(topic, OPTIONS)
      return unfinishedByOffset(topics, topic, GROUP)
    }
  }
  try {
    return await setUp()
  } catch (error) {
    if (!(error instanceof TopicConflictError)) throw error
    if ((await topics.admin.describeTopic(topic)).messagesPublished > 0) throw inUse(topic)
    await topics.admin.deleteTopic(topic)
    return await setUp()
  }
}

const inUse = (topic: string): TopicConflictError =>
  new TopicConflictError(
    topic,
    `Topic '${topic}' exists with other settings and has messages, so it can't store dead letters. Handle its messages and delete it ` +
      `(tm.admin.deleteTopic('${topic}')), or name another topic`,
  )

const readLetter = (payload: string | Uint8Array): DeadLetter =>
  deadLetterOf(fromBinary(DeadLetterMessageSchema, Buffer.from(payload)))

/** Dead letters that were taken. */
export type TakenLetters = AsyncDisposable & {
  /** The dead letters. */
  readonly letters: readonly TakenLetter[]
}

function takenLetter(delivery: Delivery<DeadLetterMessage>): TakenLetter {
  return {
    letter: deadLetterOf(delivery.payload),
    messageId: delivery.messageId,
    buriedAt: delivery.createdAt,
    remove: () => delivery.ack(),
    putBack: () => delivery.nack('Put back', { delay: 0 }),
  }
}

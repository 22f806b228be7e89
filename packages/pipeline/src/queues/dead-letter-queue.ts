import type { Delivery, Tidemark } from 'tidemark'
import type { DeadLetterMessage } from '../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { type DeadLetter, deadLetterMessage, deadLetterOf } from '../contracts/notifications.ts'
import { wholeNumber } from '../options.ts'

export const DEAD_LETTER_TOPIC = 'dead-letters'

/** What goes into one transaction: a batch that is given up can have a thousand ticks of megabytes. */
const CHUNK_BYTES = 8 * 1024 ** 2
/** The most a topic takes; a tick has 64 MiB at most. */
const MAX_MESSAGE_BYTES = 256 * 1024 ** 2
/** A look is a claim that is given back, and counts as an attempt. Past this many, the topic's own dead letters keep it. */
const MAX_LOOKS = 1_000

/** A letter that nobody else gets until it is removed or put back. */
export type TakenLetter = {
  readonly letter: DeadLetter
  readonly messageId: string
  readonly buriedAt: Date
  /** For good: it was dealt with. */
  remove(): Promise<void>
  putBack(): Promise<void>
}

/** What was given up, kept in a topic until a person or a program has dealt with it. */
export class DeadLetterQueue {
  readonly topic: string
  readonly #topics: Tidemark

  static async open(topics: Tidemark, { topic = DEAD_LETTER_TOPIC } = {}): Promise<DeadLetterQueue> {
    await topics.configureTopic(topic, {
      semantics: 'queue',
      maxMessageBytes: MAX_MESSAGE_BYTES,
      maxAttempts: MAX_LOOKS,
      backoff: { initial: 0, max: 0 },
    })
    // Subscribed from the start, so that counting asks one place.
    await using reader = topics.reader(topic)
    await reader.ready()
    return new DeadLetterQueue(topics, topic)
  }

  private constructor(topics: Tidemark, topic: string) {
    this.#topics = topics
    this.topic = topic
  }

  /** Durable when it resolves. Where it rejects, some may be stored: put again, a letter can be there twice. */
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

  /** Those waiting and those taken; cheap. */
  async count(): Promise<number> {
    const { groups } = await this.#topics.admin.describeTopic(this.topic)
    return groups.reduce((sum, { backlog, inFlight, retries }) => sum + backlog + inFlight + retries, 0)
  }

  /**
   * Letters that nobody has taken. They stay; while this looks, a take does not see them, and afterwards they stand
   * behind those that nobody has looked at.
   */
  async list({ limit = 100 }: { readonly limit?: number } = {}): Promise<DeadLetter[]> {
    await using taken = await this.take({ limit })
    return taken.letters.map(({ letter }) => letter)
  }

  /** Letters that nobody has taken, the oldest first. Those neither removed nor put back are put back when this is disposed. */
  async take({ limit = 1 }: { readonly limit?: number } = {}): Promise<TakenLetters> {
    wholeNumber('limit', limit, { min: 1, max: 10_000 })
    const reader = this.#topics.reader<DeadLetterMessage>(this.topic, { batchSize: limit })
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
}

export type TakenLetters = AsyncDisposable & { readonly letters: readonly TakenLetter[] }

function takenLetter(delivery: Delivery<DeadLetterMessage>): TakenLetter {
  return {
    letter: deadLetterOf(delivery.payload),
    messageId: delivery.messageId,
    buriedAt: delivery.createdAt,
    remove: () => delivery.ack(),
    putBack: () => delivery.nack('Put back', { delay: 0 }),
  }
}

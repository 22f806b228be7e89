import type { Tidemark } from 'tidemark'
import { batchEnvelope, type DeadLetter } from '../../../contracts/notifications.ts'
import { DeadLetterQueue } from '../../../queues/dead-letter-queue.ts'
import { CorruptFileError } from '../../../storage/errors.ts'
import type { RetryTracker } from '../../../trackers/retry-tracker.ts'
import type { SourceBatch } from '../sources/batch-source.ts'
import { BatchRefusedError } from '../verify-once.ts'

/** Stores a dead letter durably. It may be called twice for the same letter after a crash. */
export type DeadLetterSink = (letter: DeadLetter) => Promise<void>

type Through = <T>(step: () => Promise<T>) => Promise<T>

const STACK_LINES = 10
/** A corrupt file, or one with something other than ticks of this run, stays so. */
export const isFinal = (error: unknown): boolean =>
  error instanceof CorruptFileError || error instanceof BatchRefusedError

/** Counts the failures of each batch over all competing instances, and gives up a batch that has used its attempts. */
export class DeadLetterComponent {
  readonly #retries: RetryTracker
  readonly #indexer: string
  readonly #maxRetries: number
  readonly #sink: DeadLetterSink

  constructor(retries: RetryTracker, indexer: string, maxRetries: number, sink: DeadLetterSink) {
    this.#retries = retries
    this.#indexer = indexer
    this.#maxRetries = maxRetries
    this.#sink = sink
  }

  /**
   * Whether it is recorded as a dead letter now, so that the source can drop it. `through` repeats a step while a
   * database is unavailable: each step on its own, so that one failure is counted once.
   */
  async takes(batch: SourceBatch, error: unknown, through: Through): Promise<boolean> {
    const { key } = batch
    const failures = await through(() => this.#retries.increment(this.#indexer, key))
    if (failures <= this.#maxRetries && !isFinal(error)) return false
    const state = await through(() => this.#retries.state(this.#indexer, key))
    // Written before, and the ack was lost. A first attempt is another message: somebody requested a retry.
    if (state?.isDeadLettered && batch.attempt > 1) return true
    const now = Date.now()
    const letter = letterOf(batch, error, this.#indexer, { count: failures, firstAt: state?.firstAt ?? now, now })
    await through(() => this.#sink(letter))
    await through(() => this.#retries.markDeadLettered(this.#indexer, key))
    return true
  }

  /** It succeeded: old failures no longer count. */
  async reset(batch: SourceBatch): Promise<void> {
    await this.#retries.reset(this.#indexer, batch.key)
  }
}

/**
 * Stores dead letters in a topic, which is opened with the first one.
 *
 * @example
 * const deadLetters = deadLettersTo(tm, 'indexer-dead-letters')
 */
export function deadLettersTo(tidemark: Tidemark, topic = 'indexer-dead-letters'): DeadLetterSink {
  let queue: Promise<DeadLetterQueue> | undefined
  return async letter => {
    queue ??= DeadLetterQueue.open(tidemark, { topic })
    const opened = await queue.catch(error => {
      queue = undefined
      throw error
    })
    await opened.put([letter])
  }
}

type Failures = { readonly count: number; readonly firstAt: number; readonly now: number }

function letterOf(batch: SourceBatch, error: unknown, indexer: string, { count, firstAt, now }: Failures): DeadLetter {
  const { payload } = batchEnvelope(batch.info)
  const cause = error instanceof Error ? error : new Error(String(error))
  return {
    originalMessage: payload?.value ?? new Uint8Array(),
    messageType: payload?.typeUrl ?? '',
    failureReason: `${cause.name}: ${cause.message}`,
    retryCount: count,
    sourceService: indexer,
    firstFailureAt: firstAt,
    lastFailureAt: now,
    stackTraceLines: (cause.stack ?? '')
      .split('\n')
      .slice(1, 1 + STACK_LINES)
      .map(line => line.trim()),
  }
}

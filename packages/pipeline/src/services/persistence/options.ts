import type { Duration } from 'tidemark'
import { parseDuration } from '../../duration.ts'
import { refuseUnknown, wholeNumber } from '../../options.ts'
import { type RetryOptions, type RetryPolicy, retryPolicy } from './attempts.ts'

/** Options of a PersistenceService. */
export type PersistenceOptions = {
  /** Maximum number of ticks per batch (default 1000). */
  readonly maxBatchSize?: number
  /** Maximum bytes of encoded ticks per batch; a single tick may be larger (default 64 MiB). */
  readonly maxBatchBytes?: number
  /** Age at which a batch is written even if it is small (default '5s'). */
  readonly batchTimeout?: Duration
  /** Maximum number of batches in progress: while one is synced to disk, the next is compressed (default 2). */
  readonly concurrentBatches?: number
  /** Retries of a failed write before it is dead-lettered (default: 5, with delays from 1 s doubling to 30 s). */
  readonly retry?: RetryOptions
  /**
   * Retries of a failed announcement before it is left to the reconciler (default: 3, with delays from 200 ms doubling
   * to 5 s).
   */
  readonly notifyRetry?: RetryOptions
}

export type PersistenceSettings = {
  readonly maxBatchSize: number
  readonly maxBatchBytes: number
  readonly batchTimeoutMs: number
  readonly concurrentBatches: number
  readonly retry: RetryPolicy
  readonly notifyRetry: RetryPolicy
}

/** Options of a MetadataPersistenceService. */
export type MetadataPersistenceOptions = Pick<PersistenceOptions, 'retry' | 'notifyRetry'>

const NOTIFY_RETRY = { maxRetries: 3, initialBackoff: '200ms', maxBackoff: '5s' } as const
const LONGEST_TIMER_MS = 2 ** 31 - 1

export function persistenceSettings(options: PersistenceOptions): PersistenceSettings {
  refuseUnknown(options, ['maxBatchSize', 'maxBatchBytes', 'batchTimeout', 'concurrentBatches', 'retry', 'notifyRetry'])
  const { maxBatchSize = 1_000, maxBatchBytes = 64 * 1024 ** 2, batchTimeout = '5s', concurrentBatches = 2 } = options
  const batchTimeoutMs = parseDuration('batchTimeout', batchTimeout, { min: 1 })
  return {
    maxBatchSize: wholeNumber('maxBatchSize', maxBatchSize, { min: 1, max: 1_000_000 }),
    maxBatchBytes: wholeNumber('maxBatchBytes', maxBatchBytes, { min: 1 }),
    batchTimeoutMs: wholeNumber('batchTimeout', batchTimeoutMs, { min: 1, max: LONGEST_TIMER_MS }),
    concurrentBatches: wholeNumber('concurrentBatches', concurrentBatches, { min: 1, max: 64 }),
    ...retrySettings(options),
  }
}

export function metadataPersistenceSettings(options: MetadataPersistenceOptions) {
  refuseUnknown(options, ['retry', 'notifyRetry'])
  return retrySettings(options)
}

function retrySettings({ retry, notifyRetry }: MetadataPersistenceOptions): {
  readonly retry: RetryPolicy
  readonly notifyRetry: RetryPolicy
} {
  return {
    retry: retryPolicy('retry', retry),
    notifyRetry: retryPolicy('notifyRetry', { ...NOTIFY_RETRY, ...notifyRetry }),
  }
}

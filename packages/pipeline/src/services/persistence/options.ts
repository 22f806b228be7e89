import type { Duration } from 'tidemark'
import { parseDuration } from '../../duration.ts'
import { refuseUnknown, wholeNumber } from '../../options.ts'
import { type RetryOptions, type RetryPolicy, retryPolicy } from './attempts.ts'

export type PersistenceOptions = {
  /** Ticks of a batch, at most. Default 1000. */
  readonly maxBatchSize?: number
  /** Bytes of a batch's encoded ticks, at most, but for one tick that is larger by itself. Default 64 MiB. */
  readonly maxBatchBytes?: number
  /** A batch is written when it is this old, however small. Default 5 s. */
  readonly batchTimeout?: Duration
  /** Batches in hand at the same time: while one is flushed to the disk, the next is compressed. Default 2. */
  readonly concurrentBatches?: number
  /** Of writes, before a batch goes to the dead letters. Default: 5 retries, 1 s doubling to 30 s. */
  readonly retry?: RetryOptions
  /** Of notifications, before they are left to the reconciler. Default: 3 retries, 200 ms doubling to 5 s. */
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

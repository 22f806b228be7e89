/** Retries, and what is known when they are given up. */
import type { Backoff, Duration } from 'tidemark'
import { retryDelayMs } from '../../backoff.ts'
import type { DeadLetter } from '../../contracts/notifications.ts'
import { parseDuration } from '../../duration.ts'
import { isEnvironmentFault, whatIsAway } from '../../faults.ts'
import { refuseUnknown, wholeNumber } from '../../options.ts'
import type { ServiceContext } from '../service.ts'
import { pauseFor } from '../until-aborted.ts'

/** Retries of an operation. */
export type RetryOptions = {
  /** Maximum number of retries after the first attempt (default 5). */
  readonly maxRetries?: number
  /** Delay before the first retry, doubled each time (default '1s'). */
  readonly initialBackoff?: Duration
  /** Maximum delay (default '30s'). */
  readonly maxBackoff?: Duration
}

export type RetryPolicy = { readonly maxRetries: number; readonly backoff: Backoff }

export type Failure = {
  readonly error: Error
  readonly retries: number
  /** Unix times in milliseconds. */
  readonly firstAt: number
  readonly lastAt: number
}

export type Outcome<T> = { readonly value: T } | { readonly failure: Failure }

type Circumstances = Pick<ServiceContext, 'signal' | 'report' | 'succeeded' | 'waiting' | 'watch'> & {
  /** The operation and its subject, for people. */
  readonly operation: string
  readonly about: string
  /** Errors that no further attempt can cure. */
  readonly isFinal?: (error: Error) => boolean
}

const KEPT_STACK_LINES = 20

export function retryPolicy(option: string, options: RetryOptions = {}): RetryPolicy {
  refuseUnknown(options, ['maxRetries', 'initialBackoff', 'maxBackoff'])
  const { maxRetries = 5, initialBackoff = '1s', maxBackoff = '30s' } = options
  return {
    maxRetries: wholeNumber(`${option}.maxRetries`, maxRetries, { min: 0, max: 1_000 }),
    backoff: {
      initialMs: parseDuration(`${option}.initialBackoff`, initialBackoff),
      maxMs: parseDuration(`${option}.maxBackoff`, maxBackoff),
      factor: 2,
    },
  }
}

/**
 * Never rejects. An unavailable environment is waited for, however long it takes, and that is no attempt. Once the
 * signal aborts there is no more waiting: one last attempt.
 */
export async function attempt<T>(
  work: () => Promise<T>,
  { maxRetries, backoff }: RetryPolicy,
  { signal, report, succeeded, waiting, watch, operation, about, isFinal = () => false }: Circumstances,
): Promise<Outcome<T>> {
  let firstAt: number | undefined
  let retries = 0
  for (let failures = 0; ; failures++) {
    const isLast = signal.aborted
    let error: Error
    try {
      const value = await watch(operation, work)
      succeeded(operation)
      return { value }
    } catch (cause) {
      error = toError(cause)
    }
    const lastAt = Date.now()
    firstAt ??= lastAt
    report(operation, error, about)
    const isAway = isEnvironmentFault(error)
    const isOver = isAway ? isLast : retries >= maxRetries || signal.aborted || isFinal(error)
    if (isOver) return { failure: { error, retries, firstAt, lastAt } }
    if (!isAway) retries++
    using _waiting = isAway ? waiting(whatIsAway(error)) : undefined
    await pauseFor(isAway ? retryDelayMs(failures) : retryDelayMs(retries - 1, backoff), signal)
  }
}

export function deadLetter(
  failure: Failure,
  sourceService: string,
  messageType: string,
  originalMessage: Uint8Array,
): DeadLetter {
  const { error, retries, firstAt, lastAt } = failure
  return {
    originalMessage,
    messageType,
    sourceService,
    failureReason: `${error.name}: ${error.message}`,
    retryCount: retries,
    firstFailureAt: firstAt,
    lastFailureAt: lastAt,
    stackTraceLines: (error.stack ?? '').split('\n').slice(0, KEPT_STACK_LINES),
  }
}

const toError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)))

import { ConfigError } from 'tidemark'
import { ContractError, InvalidRunIdError, LimitError } from '../../errors.ts'
import { ConflictError, InvalidBatchError } from '../../storage/errors.ts'
import type { ServiceContext } from '../service.ts'
import { pauseFor } from '../until-aborted.ts'
import { attempt, type Failure, type Outcome, type RetryPolicy } from './attempts.ts'
import { MixedRunsError, NotStoredError } from './errors.ts'

export type Storing<T> = {
  /** For people: 'Ticks 0 to 999 of run …'. */
  readonly what: string
  readonly store: () => Promise<T>
  readonly bury: (failure: Failure) => Promise<void>
}

/** Errors that a retry would repeat. */
const FINAL = [
  ConfigError,
  ConflictError,
  ContractError,
  InvalidBatchError,
  InvalidRunIdError,
  LimitError,
  MixedRunsError,
]

/**
 * Stores it, however long the storage is unavailable. What the storage refuses is dead-lettered, however long that
 * takes: meanwhile it is held, the queue behind it fills and its producer waits. A stop while the storage is
 * unavailable saves it in the dead letters; only a stop while both are unavailable loses it, and rejects.
 *
 * Returns the value, or the failure with which it was dead-lettered.
 */
export async function storeOrBury<T>(
  { what: about, store, bury }: Storing<T>,
  policy: RetryPolicy,
  context: ServiceContext,
): Promise<Outcome<T>> {
  const isFinal = (error: Error): boolean => FINAL.some(type => error instanceof type)
  for (;;) {
    const outcome = await attempt(store, policy, { ...context, operation: 'store', about, isFinal })
    if ('value' in outcome) return outcome
    const burial = () => bury(outcome.failure)
    const buried = await attempt(burial, policy, { ...context, operation: 'dead letters', about })
    if ('value' in buried) {
      // A fault of the data says nothing about the storage, and is not retried.
      if (isFinal(outcome.failure.error)) context.succeeded('store')
      return outcome
    }
    if (context.signal.aborted) throw new NotStoredError(about, outcome.failure.error)
    await pauseFor(policy.backoff.maxMs, context.signal)
  }
}

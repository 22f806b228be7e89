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

/** Trying again brings the same. */
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
 * To the storage, however long that is away. What the storage refuses goes to the dead letters, however long those are away:
 * meanwhile it is held, the queue behind it fills and its producer waits. A stop while the storage is away saves it in the dead
 * letters; only a stop while both are away loses it, and rejects.
 *
 * Gives the value, or the failure with which it was buried.
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
      // What is wrong with the data themselves says nothing of the storage, and is never tried again.
      if (isFinal(outcome.failure.error)) context.succeeded('store')
      return outcome
    }
    if (context.signal.aborted) throw new NotStoredError(about, outcome.failure.error)
    await pauseFor(policy.backoff.maxMs, context.signal)
  }
}

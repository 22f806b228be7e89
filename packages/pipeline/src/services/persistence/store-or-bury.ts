import { ConfigError } from 'tidemark'
import { ContractError, InvalidRunIdError, LimitError } from '../../errors.ts'
import { ConflictError, InvalidBatchError } from '../../storage/errors.ts'
import type { ServiceContext } from '../service.ts'
import { attempt, type Failure, type Outcome, type RetryPolicy, waitFor } from './attempts.ts'
import { MixedRunsError, NotStoredError } from './errors.ts'

export type Storing<T> = {
  /** For people: 'Ticks 0 to 999 of run …'. */
  readonly what: string
  readonly store: () => Promise<T>
  readonly bury: (failure: Failure) => Promise<void>
  /** Whether it is held, because neither takes it. */
  readonly onHeld: (isHeld: boolean) => void
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
 * To the storage, with retries; else to the dead letters, with retries; else it is held and all that is tried again,
 * while the queue behind it fills and its producer waits. Only a stop in that state loses it, and rejects.
 *
 * Gives the value, or the failure with which it was buried.
 */
export async function storeOrBury<T>(
  { what, store, bury, onHeld }: Storing<T>,
  policy: RetryPolicy,
  { signal, report }: ServiceContext,
): Promise<Outcome<T>> {
  const isFinal = (error: Error): boolean => FINAL.some(type => error instanceof type)
  for (;;) {
    const onFailure = (error: Error): void => report(`store: ${what}`, error)
    const outcome = await attempt(store, policy, { signal, onFailure, isFinal })
    if ('value' in outcome) {
      onHeld(false)
      return outcome
    }
    const onBurialFailure = (error: Error): void => report(`dead letters: ${what}`, error)
    const buried = await attempt(() => bury(outcome.failure), policy, { signal, onFailure: onBurialFailure })
    onHeld(!('value' in buried))
    if ('value' in buried) return outcome
    if (signal.aborted) throw new NotStoredError(what, outcome.failure.error)
    await waitFor(policy.maxMs, signal)
  }
}

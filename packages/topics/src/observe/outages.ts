import { describeFailure, toError } from '../errors/failure.ts'
import {
  DatabaseError,
  DatabaseInUseError,
  DatabaseRestoredError,
  DatabaseUnreachableError,
  DatabaseVersionError,
  NamespaceGoneError,
  OutcomeUnknownError,
  TidemarkError,
} from '../errors.ts'
import type { FailureRecord } from '../stores/failure-record.ts'

/** What failed: a write, a read, a claim, a settlement, a heartbeat, or anything for lack of a connection. */
const FAILURE_KINDS = ['write', 'read', 'claim', 'settle', 'heartbeat', 'connection'] as const
/** Operation of a failed database call. */
export type FailureKind = (typeof FAILURE_KINDS)[number]
/** Failed database calls by operation. */
export type FailureCounts = { readonly [kind in FailureKind]: number }

/** An operation that keeps failing. */
export type Outage = {
  /** The failing operation. */
  readonly kind: FailureKind
  /** Time of the first failure. */
  readonly since: Date
  /** Number of failed attempts so far. */
  readonly failed: number
  /** Error of the last attempt. */
  readonly error: FailureRecord
}

/** Start of an outage. */
export type OutageBegan = {
  /** The failing operation. */
  readonly kind: FailureKind
  /** Error of the first failed attempt. */
  readonly error: Error
  /** Name of the topic, if the operation concerns one. */
  readonly topic?: string
  /** Name of the group, if the operation concerns one. */
  readonly group?: string
}
/** End of an outage. */
export type OutageEnded = {
  /** The operation that works again. */
  readonly kind: FailureKind
  /** Duration of the outage in milliseconds. */
  readonly ms: number
  /** Number of failed attempts. */
  readonly failed: number
}

type Where = { readonly topic?: string; readonly group?: string }
/** What a call is about: its success ends only what failed with the same key. */
export type Subject = { readonly where: Where; readonly keys: readonly string[] }
type Open = {
  readonly since: Date
  failed: number
  error: FailureRecord
  /** What fails, by its key, with the time of the last failure; each may have its own problem. */
  readonly failing: Map<string, number>
}
type Tell = { began(outage: OutageBegan): void; ended(outage: OutageEnded): void }

/** What has not been tried for this long no longer counts: nobody waits for its success. */
const GIVEN_UP_MS = 60_000

/**
 * Counts database failures and reports an outage twice: when it begins and when it is over, not at every attempt.
 * Everything that fails for lack of a connection is one outage, whoever notices.
 */
export class Outages {
  readonly #tell: Tell
  readonly #counts = Object.fromEntries(FAILURE_KINDS.map(kind => [kind, 0])) as { [kind in FailureKind]: number }
  readonly #open = new Map<FailureKind, Open>()

  constructor(tell: Tell) {
    this.#tell = tell
  }

  /** Whether a success matters. */
  get isAny(): boolean {
    return this.#open.size > 0
  }

  /** `since`: when it was attempted. */
  failed(kind: FailureKind, subject: Subject, thrown: unknown, since = new Date()): void {
    this.#counts[kind]++
    const isAway = isUnreachable(thrown)
    if (isAway) this.#counts.connection++
    this.#note(isAway ? 'connection' : kind, isAway ? NO_SUBJECT : subject, thrown, since)
  }

  succeeded(kind: FailureKind, { keys }: Subject): void {
    this.#open.get('connection')?.failing.clear()
    const failing = this.#open.get(kind)?.failing
    for (const key of keys) failing?.delete(key)
    this.#endOver()
  }

  get counts(): FailureCounts {
    return { ...this.#counts }
  }

  get open(): Outage[] {
    this.#endOver()
    return [...this.#open].map(([kind, { since, failed, error }]) => ({ kind, since, failed, error }))
  }

  #note(kind: FailureKind, { where, keys }: Subject, thrown: unknown, since: Date): void {
    const now = performance.now()
    let outage = this.#open.get(kind)
    const isNew = outage === undefined
    outage ??= { since, failed: 0, error: describeFailure(thrown), failing: new Map() }
    this.#open.set(kind, outage)
    outage.failed++
    outage.error = describeFailure(thrown)
    for (const key of keys) outage.failing.set(key, now)
    if (isNew) this.#tell.began({ kind, ...where, error: toError(thrown) })
  }

  #endOver(): void {
    const now = performance.now()
    for (const [kind, { since, failed, failing }] of this.#open) {
      for (const [key, at] of failing) if (now - at > GIVEN_UP_MS) failing.delete(key)
      if (failing.size > 0) continue
      this.#open.delete(kind)
      this.#tell.ended({ kind, ms: Math.max(0, Date.now() - since.getTime()), failed })
    }
  }
}

export const NO_SUBJECT: Subject = { where: {}, keys: [''] }

export const subjectOf = (topic: string, group = ''): Subject => ({
  where: group === '' ? { topic } : { topic, group },
  keys: [`${topic}/${group}`],
})

const isUnreachable = (thrown: unknown): boolean =>
  thrown instanceof DatabaseUnreachableError || (thrown instanceof OutcomeUnknownError && thrown.isConnectionLost)

/** Whether the database or the network is at fault, and not the caller. */
export function isFault(thrown: unknown): boolean {
  if (!(thrown instanceof TidemarkError)) return true
  const isRefusal = [DatabaseVersionError, DatabaseRestoredError, DatabaseInUseError, NamespaceGoneError].some(
    each => thrown instanceof each,
  )
  return thrown instanceof DatabaseError && !isRefusal
}

import { CodedError } from 'tidemark'

/** An operation that failed and has not succeeded since. */
export type ServiceError = {
  /** Time of the failure. */
  readonly at: Date
  /** The operation. */
  readonly action: string
  /** The error. */
  readonly error: Error
}

const KEPT_ERRORS = 20
/** Operations are few; only a service that puts a number into each of their names reaches this. */
const KEPT_OPERATIONS = 100
/** An operation that takes longer than this counts as failing: it may never answer. */
const SLOW_MS = 10_000

type Standing = ServiceError & { readonly operation: string }

/**
 * The only rule of health, for services and resources alike: something is unhealthy if its last attempt of an operation
 * failed, or takes too long. A success removes the errors of its own operation; a person can remove all.
 */
export class Health {
  /** Newest last. */
  #errors: readonly Standing[] = []
  /** Operations whose last attempt failed. Kept separately, because errors of one could push out those of another. */
  readonly #failing = new Set<string>()
  readonly #underWay = new Set<{ readonly operation: string; readonly since: number }>()

  get healthy(): boolean {
    return this.#failing.size === 0 && this.#slow().length === 0
  }

  get errors(): readonly ServiceError[] {
    const standing = this.#errors.map(({ at, action, error }) => ({ at, action, error }))
    return [...standing, ...this.#slow()]
  }

  /** True if it did not fail before, or failed differently: worth a log line. */
  failed(operation: string, error: Error, action = operation): boolean {
    const before = this.#errors.findLast(each => each.operation === operation)
    this.#errors = [...this.#errors, { at: new Date(), operation, action, error }].slice(-KEPT_ERRORS)
    this.#failing.add(operation)
    for (const oldest of this.#failing) if (this.#failing.size > KEPT_OPERATIONS) this.#failing.delete(oldest)
    return before?.error.message !== error.message
  }

  /** True if it had failed before. */
  succeeded(operation: string): boolean {
    if (!this.#failing.delete(operation)) return false
    this.#errors = this.#errors.filter(each => each.operation !== operation)
    return true
  }

  /** Watches the duration. The caller reports the result. */
  async watch<T>(operation: string, work: () => Promise<T>): Promise<T> {
    const attempt = { operation, since: Date.now() }
    this.#underWay.add(attempt)
    try {
      return await work()
    } finally {
      this.#underWay.delete(attempt)
    }
  }

  clear(): void {
    this.#errors = []
    this.#failing.clear()
  }

  #slow(): ServiceError[] {
    const now = Date.now()
    return [...this.#underWay]
      .filter(({ since }) => now - since > SLOW_MS)
      .map(({ operation, since }) => {
        const error = new NoAnswerError(operation, now - since)
        return { at: new Date(since), action: operation, error }
      })
  }
}

/** An operation takes longer than it should. */
export class NoAnswerError extends CodedError {
  constructor(operation: string, ms: number) {
    super(
      'TIDEMARK_NO_ANSWER',
      `'${operation}' has been running for ${Math.round(ms / 1_000)} s without an answer. ` +
        'Check that the databases and the storage respond',
    )
  }
}

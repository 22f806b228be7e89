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
/** Operations are few; only a service that puts a number into each of their names comes here. */
const KEPT_OPERATIONS = 100
/** Under way for longer than this, an operation counts as one that fails: nobody knows whether it will ever answer. */
const SLOW_MS = 10_000

type Standing = ServiceError & { readonly operation: string }

/**
 * The one rule of health, for services and resources alike: unhealthy is what could not do something the last time it
 * tried, or has been trying for too long. A success takes the errors of its own operation away; a person can take all.
 */
export class Health {
  /** Newest last. */
  #errors: readonly Standing[] = []
  /** The operations whose last attempt failed. Kept apart, since the errors of one could push out those of another. */
  readonly #failing = new Set<string>()
  readonly #underWay = new Set<{ readonly operation: string; readonly since: number }>()

  get healthy(): boolean {
    return this.#failing.size === 0 && this.#slow().length === 0
  }

  get errors(): readonly ServiceError[] {
    const standing = this.#errors.map(({ at, action, error }) => ({ at, action, error }))
    return [...standing, ...this.#slow()]
  }

  /** True where it did not fail before, or failed otherwise: news for a log. */
  failed(operation: string, error: Error, action = operation): boolean {
    const before = this.#errors.findLast(each => each.operation === operation)
    this.#errors = [...this.#errors, { at: new Date(), operation, action, error }].slice(-KEPT_ERRORS)
    this.#failing.add(operation)
    for (const oldest of this.#failing) if (this.#failing.size > KEPT_OPERATIONS) this.#failing.delete(oldest)
    return before?.error.message !== error.message
  }

  /** True where it had failed before. */
  succeeded(operation: string): boolean {
    if (!this.#failing.delete(operation)) return false
    this.#errors = this.#errors.filter(each => each.operation !== operation)
    return true
  }

  /** Watches how long it takes. What comes of it, the caller tells. */
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

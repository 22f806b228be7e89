import type { NamespaceGoneError } from '../errors.ts'

/**
 * Whether the namespace that a store was opened on still exists. Once it is gone it stays gone, whatever is there
 * later.
 *
 * @example
 * const guard = new NamespaceGuard()
 * guard.assertThere()
 */
export class NamespaceGuard {
  readonly #listeners = new Set<(error: NamespaceGoneError) => void>()
  #error: NamespaceGoneError | undefined

  /** Throws once the namespace is known to be gone, before anything is sent to the database. */
  assertThere(): void {
    if (this.#error !== undefined) throw this.#error
  }

  /** Returns the error to throw; the first one is passed to all listeners. */
  gone(error: NamespaceGoneError): NamespaceGoneError {
    if (this.#error !== undefined) return this.#error
    this.#error = error
    for (const listener of this.#listeners) listener(error)
    return error
  }

  /** Calls the listener once, when the namespace turns out to be gone. */
  onGone(listener: (error: NamespaceGoneError) => void): void {
    this.#listeners.add(listener)
  }
}

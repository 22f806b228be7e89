import type { NamespaceGoneError } from '../errors.ts'

/** What became of the namespace that a store was opened on. Once it is gone it is so for good, whatever is there later. */
export class NamespaceGuard {
  readonly #listeners = new Set<(error: NamespaceGoneError) => void>()
  #error: NamespaceGoneError | undefined

  /** Throws once the namespace is known to be gone: nothing is sent to the database then. */
  assertThere(): void {
    if (this.#error !== undefined) throw this.#error
  }

  /** Gives the error to throw; the first is told to all who listen. */
  gone(error: NamespaceGoneError): NamespaceGoneError {
    if (this.#error !== undefined) return this.#error
    this.#error = error
    for (const listener of this.#listeners) listener(error)
    return error
  }

  onGone(listener: (error: NamespaceGoneError) => void): void {
    this.#listeners.add(listener)
  }
}

import { AsyncLocalStorage } from 'node:async_hooks'
import { NestedTransactionError } from './errors.ts'

/** Whether the caller is inside a transaction of this database. */
export class NoNesting {
  readonly #current = new AsyncLocalStorage<{ isOpen: boolean }>()
  readonly #location: string

  constructor(location: string) {
    this.#location = location
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    // Asynchronous work that was started inside the transaction, such as a timer, keeps this context after its end.
    const context = { isOpen: true }
    try {
      return await this.#current.run(context, work)
    } finally {
      context.isOpen = false
    }
  }

  check(): void {
    if (this.#current.getStore()?.isOpen) throw new NestedTransactionError(this.#location)
  }
}

import type { SqliteDatabase } from './driver.ts'

/** The parts of a caller's connection that tell whether it has a transaction open. */
export type CallersConnection = Pick<SqliteDatabase, 'isOpen' | 'isTransaction'>

/** Callers' connections that were passed to publish, held weakly. */
export class CallersConnections {
  readonly #noted = new Set<WeakRef<CallersConnection>>()

  note(connection: CallersConnection): void {
    for (const each of this.#noted) if (!each.deref()?.isOpen || each.deref() === connection) this.#noted.delete(each)
    this.#noted.add(new WeakRef(connection))
  }

  /** Whether one of them has a transaction open. */
  get hasTransaction(): boolean {
    return [...this.#noted].some(each => {
      const connection = each.deref()
      return connection?.isOpen && connection.isTransaction
    })
  }
}

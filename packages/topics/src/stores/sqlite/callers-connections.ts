import type { SqliteDatabase } from './driver.ts'

/** What has to be known of a connection that a caller has a transaction open on. */
export type CallersConnection = Pick<SqliteDatabase, 'isOpen' | 'isTransaction'>

/** Callers' own connections that were given to publish, as long as somebody else keeps them. */
export class CallersConnections {
  readonly #noted = new Set<WeakRef<CallersConnection>>()

  note(connection: CallersConnection): void {
    for (const each of this.#noted) if (!each.deref()?.isOpen || each.deref() === connection) this.#noted.delete(each)
    this.#noted.add(new WeakRef(connection))
  }

  /** One of them has a transaction open. */
  get hasTransaction(): boolean {
    return [...this.#noted].some(each => {
      const connection = each.deref()
      return connection?.isOpen && connection.isTransaction
    })
  }
}

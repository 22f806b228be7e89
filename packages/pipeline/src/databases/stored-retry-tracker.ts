import type { RetryState, RetryTracker } from '../trackers/retry-tracker.ts'
import { checkScopedKey } from '../trackers/scoped-key.ts'
import type { IndexDatabase } from './index-database.ts'

export type RetryStatements = {
  readonly increment: string
  readonly state: string
  readonly mark: string
  readonly reset: string
  readonly prune: string
}

type Connection = Pick<IndexDatabase, 'read' | 'transaction'>

/** Shared by all that share the index, whatever the engine. */
export class StoredRetryTracker implements RetryTracker {
  readonly #connection: Connection
  readonly #sql: RetryStatements

  constructor(connection: Connection, sql: RetryStatements) {
    this.#connection = connection
    this.#sql = sql
  }

  async increment(scope: string, key: string): Promise<number> {
    checkScopedKey(scope, key)
    const [row] = await this.#connection.transaction(tx =>
      tx.rows<{ attempts: number }>(this.#sql.increment, scope, key),
    )
    return row?.attempts ?? 0
  }

  async state(scope: string, key: string): Promise<RetryState | null> {
    checkScopedKey(scope, key)
    type Row = Omit<RetryState, 'isDeadLettered'> & { readonly isDeadLettered: boolean | number }
    const [row] = await this.#connection.read<Row>(this.#sql.state, scope, key)
    return row === undefined ? null : { ...row, isDeadLettered: Boolean(row.isDeadLettered) }
  }

  async markDeadLettered(scope: string, key: string): Promise<boolean> {
    checkScopedKey(scope, key)
    return (await this.#connection.transaction(tx => tx.run(this.#sql.mark, scope, key))) === 1
  }

  async reset(scope: string, key: string): Promise<void> {
    checkScopedKey(scope, key)
    await this.#connection.transaction(tx => tx.run(this.#sql.reset, scope, key))
  }

  async prune(olderThanMs: number): Promise<number> {
    return await this.#connection.transaction(tx => tx.run(this.#sql.prune, olderThanMs))
  }
}

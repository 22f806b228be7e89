import type { IdempotencyTracker } from '../trackers/idempotency-tracker.ts'
import { checkScopedKey } from '../trackers/scoped-key.ts'
import type { IndexDatabase } from './index-database.ts'

export type IdempotencyStatements = { readonly find: string; readonly mark: string; readonly prune: string }

type Connection = Pick<IndexDatabase, 'read' | 'transaction'>

/** Shared by all that share the index, whatever the engine. */
export class StoredIdempotencyTracker implements IdempotencyTracker {
  readonly #connection: Connection
  readonly #sql: IdempotencyStatements

  constructor(connection: Connection, sql: IdempotencyStatements) {
    this.#connection = connection
    this.#sql = sql
  }

  async isProcessed(scope: string, key: string): Promise<boolean> {
    checkScopedKey(scope, key)
    return (await this.#connection.read(this.#sql.find, scope, key)).length > 0
  }

  async markProcessed(scope: string, key: string): Promise<boolean> {
    checkScopedKey(scope, key)
    return (await this.#connection.transaction(tx => tx.run(this.#sql.mark, scope, key))) === 1
  }

  async prune(olderThanMs: number): Promise<number> {
    return await this.#connection.transaction(tx => tx.run(this.#sql.prune, olderThanMs))
  }
}

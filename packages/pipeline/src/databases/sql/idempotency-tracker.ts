import type { IdempotencyTracker } from '../../trackers/idempotency-tracker.ts'
import { checkScopedKey } from '../../trackers/scoped-key.ts'
import type { IndexConnection } from '../index-connection.ts'
import type { Dialect } from './dialect.ts'

const statements = ({ now }: Dialect) => ({
  find: 'select 1 from run.processed_key where scope = $1 and item_key = $2',
  mark: `
    insert into run.processed_key (scope, item_key, marked_at)
    values ($1, $2, ${now})
    on conflict do nothing`,
  prune: `
    delete from run.processed_key
    where marked_at < ${now} - $1`,
})

/** Shared by all processes that use the index. */
export class StoredIdempotencyTracker implements IdempotencyTracker {
  readonly #connection: IndexConnection
  readonly #sql: ReturnType<typeof statements>

  constructor(connection: IndexConnection) {
    this.#connection = connection
    this.#sql = statements(connection.dialect)
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

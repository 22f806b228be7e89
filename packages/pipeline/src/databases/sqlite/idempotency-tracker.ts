import type { IdempotencyTracker } from '../../trackers/idempotency-tracker.ts'
import { checkScopedKey } from '../../trackers/scoped-key.ts'
import type { Connection } from './connection.ts'

const MARK = `
  insert into processed_key (scope, item_key, marked_at)
  values (?1, ?2, cast(unixepoch('subsec') * 1000 as integer))
  on conflict do nothing`

const PRUNE = `
  delete from processed_key
  where marked_at < cast(unixepoch('subsec') * 1000 as integer) - ?1`

export class SqliteIdempotencyTracker implements IdempotencyTracker {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  async isProcessed(scope: string, key: string): Promise<boolean> {
    checkScopedKey(scope, key)
    const sql = 'select 1 from processed_key where scope = ?1 and item_key = ?2'
    return (await this.#connection.read(sql, scope, key)).length > 0
  }

  async markProcessed(scope: string, key: string): Promise<boolean> {
    checkScopedKey(scope, key)
    return (await this.#connection.transaction(tx => tx.run(MARK, scope, key))) === 1
  }

  async prune(olderThanMs: number): Promise<number> {
    return await this.#connection.transaction(tx => tx.run(PRUNE, olderThanMs))
  }
}

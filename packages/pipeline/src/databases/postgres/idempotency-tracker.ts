import type { IdempotencyTracker } from '../../trackers/idempotency-tracker.ts'
import { checkScopedKey } from '../../trackers/scoped-key.ts'
import type { Connection } from './connection.ts'

const MARK = `
  insert into run.processed_key (scope, item_key, marked_at)
  values ($1, $2, (extract(epoch from clock_timestamp()) * 1000)::bigint)
  on conflict do nothing`

const PRUNE = `
  delete from run.processed_key
  where marked_at < (extract(epoch from clock_timestamp()) * 1000)::bigint - $1`

export class PostgresIdempotencyTracker implements IdempotencyTracker {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  async isProcessed(scope: string, key: string): Promise<boolean> {
    checkScopedKey(scope, key)
    const sql = 'select 1 from run.processed_key where scope = $1 and item_key = $2'
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

import type { RetryState, RetryTracker } from '../../trackers/retry-tracker.ts'
import { checkScopedKey } from '../../trackers/scoped-key.ts'
import type { Connection } from './connection.ts'

const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

const INCREMENT = `
  insert into run.retry_count (scope, item_key, attempts, first_at, last_at)
  values ($1, $2, 1, ${NOW}, ${NOW})
  on conflict (scope, item_key) do update set attempts = retry_count.attempts + 1, last_at = excluded.last_at
  returning attempts`

const STATE = `
  select attempts as count, first_at as "firstAt", last_at as "lastAt", is_dead_lettered as "isDeadLettered"
  from run.retry_count
  where scope = $1 and item_key = $2`

const MARK = `
  insert into run.retry_count (scope, item_key, attempts, first_at, last_at, is_dead_lettered)
  values ($1, $2, 0, ${NOW}, ${NOW}, true)
  on conflict (scope, item_key) do update set is_dead_lettered = true
  where not retry_count.is_dead_lettered`

const PRUNE = `
  delete from run.retry_count
  where last_at < ${NOW} - $1`

export class PostgresRetryTracker implements RetryTracker {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  async increment(scope: string, key: string): Promise<number> {
    checkScopedKey(scope, key)
    const [row] = await this.#connection.transaction(tx => tx.rows<{ attempts: number }>(INCREMENT, scope, key))
    return row?.attempts ?? 0
  }

  async state(scope: string, key: string): Promise<RetryState | null> {
    checkScopedKey(scope, key)
    const [row] = await this.#connection.read<RetryState>(STATE, scope, key)
    return row ?? null
  }

  async markDeadLettered(scope: string, key: string): Promise<boolean> {
    checkScopedKey(scope, key)
    return (await this.#connection.transaction(tx => tx.run(MARK, scope, key))) === 1
  }

  async reset(scope: string, key: string): Promise<void> {
    checkScopedKey(scope, key)
    const sql = 'delete from run.retry_count where scope = $1 and item_key = $2'
    await this.#connection.transaction(tx => tx.run(sql, scope, key))
  }

  async prune(olderThanMs: number): Promise<number> {
    return await this.#connection.transaction(tx => tx.run(PRUNE, olderThanMs))
  }
}

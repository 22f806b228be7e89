import type { RetryState, RetryTracker } from '../../trackers/retry-tracker.ts'
import { checkScopedKey } from '../../trackers/scoped-key.ts'
import type { IndexConnection } from '../index-connection.ts'
import type { Dialect } from './dialect.ts'

const statements = ({ now }: Dialect) => ({
  increment: `
    insert into run.retry_count (scope, item_key, attempts, first_at, last_at)
    values ($1, $2, 1, ${now}, ${now})
    on conflict (scope, item_key) do update set attempts = retry_count.attempts + 1, last_at = excluded.last_at
    returning attempts`,
  state: `
    select attempts as count, first_at as "firstAt", last_at as "lastAt", is_dead_lettered as "isDeadLettered"
    from run.retry_count
    where scope = $1 and item_key = $2`,
  mark: `
    insert into run.retry_count (scope, item_key, attempts, first_at, last_at, is_dead_lettered)
    values ($1, $2, 0, ${now}, ${now}, true)
    on conflict (scope, item_key) do update set is_dead_lettered = true
    where not retry_count.is_dead_lettered`,
  reset: 'delete from run.retry_count where scope = $1 and item_key = $2',
  prune: `
    delete from run.retry_count
    where last_at < ${now} - $1`,
})

/** Shared by all processes that use the index. */
export class StoredRetryTracker implements RetryTracker {
  readonly #connection: IndexConnection
  readonly #sql: ReturnType<typeof statements>

  constructor(connection: IndexConnection) {
    this.#connection = connection
    this.#sql = statements(connection.dialect)
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

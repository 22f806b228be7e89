import type { RetryStatements } from '../stored-retry-tracker.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"

const INCREMENT = `
  insert into retry_count (scope, item_key, attempts, first_at, last_at)
  values (?1, ?2, 1, ${NOW}, ${NOW})
  on conflict (scope, item_key) do update set attempts = attempts + 1, last_at = excluded.last_at
  returning attempts`

const STATE = `
  select attempts as count, first_at as "firstAt", last_at as "lastAt", is_dead_lettered as "isDeadLettered"
  from retry_count
  where scope = ?1 and item_key = ?2`

const MARK = `
  insert into retry_count (scope, item_key, attempts, first_at, last_at, is_dead_lettered)
  values (?1, ?2, 0, ${NOW}, ${NOW}, 1)
  on conflict (scope, item_key) do update set is_dead_lettered = 1
  where is_dead_lettered = 0`

const PRUNE = `
  delete from retry_count
  where last_at < ${NOW} - ?1`

const RESET = 'delete from retry_count where scope = ?1 and item_key = ?2'

export const RETRIES: RetryStatements = {
  increment: INCREMENT,
  state: STATE,
  mark: MARK,
  reset: RESET,
  prune: PRUNE,
}

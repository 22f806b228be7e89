import type { IdempotencyStatements } from '../stored-idempotency-tracker.ts'

const FIND = 'select 1 from processed_key where scope = ?1 and item_key = ?2'

const MARK = `
  insert into processed_key (scope, item_key, marked_at)
  values (?1, ?2, cast(unixepoch('subsec') * 1000 as integer))
  on conflict do nothing`

const PRUNE = `
  delete from processed_key
  where marked_at < cast(unixepoch('subsec') * 1000 as integer) - ?1`

export const IDEMPOTENCY: IdempotencyStatements = { find: FIND, mark: MARK, prune: PRUNE }

import type { IdempotencyStatements } from '../stored-idempotency-tracker.ts'

const FIND = 'select 1 from run.processed_key where scope = $1 and item_key = $2'

const MARK = `
  insert into run.processed_key (scope, item_key, marked_at)
  values ($1, $2, (extract(epoch from clock_timestamp()) * 1000)::bigint)
  on conflict do nothing`

const PRUNE = `
  delete from run.processed_key
  where marked_at < (extract(epoch from clock_timestamp()) * 1000)::bigint - $1`

export const IDEMPOTENCY: IdempotencyStatements = { find: FIND, mark: MARK, prune: PRUNE }

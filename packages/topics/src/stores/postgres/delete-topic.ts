import type { TopicRecord } from '../topic-record.ts'
import { LOCK_TIMEOUT_MS } from './database-errors.ts'
import { quoteIdentifier } from './schema-name.ts'
import type { Transaction } from './transaction.ts'

/**
 * Dropping a table takes several locks, and the server's lock table is limited, so thousands can't be dropped in one
 * transaction.
 */
const TABLES_AT_ONCE = 100

/** Partitions first, of logs and bitmaps whose topic is gone. */
const LEFT_OVER = `
  select c.relname as name
  from pg_class as c
  join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relkind in ('r', 'p') and c.relname ~ '^(log|track)_[0-9]+(_p[0-9]+)?$'
    and not exists (select from tidemark.topic as t where t.id = substring(c.relname from '_([0-9]+)')::int)
  order by c.relkind = 'p'
  limit ${TABLES_AT_ONCE}`

/**
 * Deletes the topic's rows in one transaction that waits for writers of the log, so its groups notice at once, wherever
 * they run. The tables are dropped afterwards.
 */
export async function deleteRows(tx: Transaction, topic: TopicRecord): Promise<void> {
  await tx.exec(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
  await tx.exec(tx.sql(`lock table only tidemark.log_${topic.id} in share row exclusive mode`))
  const groups = 'select id from tidemark.subscription where topic_id = $1'
  // No foreign key deletes these (see 001_tables.sql). Live and ended leases have separate indexes.
  for (const which of ['done_at is null and expired_at is null', '(done_at is not null or expired_at is not null)']) {
    const text = `delete from tidemark.lease where subscription_id in (${groups}) and ${which}`
    await tx.query(tx.sql(text), [topic.id])
  }
  await tx.query(tx.sql(`delete from tidemark.retry where subscription_id in (${groups})`), [topic.id])
  await tx.query(tx.sql('delete from tidemark.topic where id = $1'), [topic.id])
}

/** False if there was nothing left to drop. */
export async function dropLeftOver(tx: Transaction): Promise<boolean> {
  const schema = quoteIdentifier(tx.schema)
  const rows = await tx.query(tx.sql(LEFT_OVER), [tx.schema])
  if (rows.length === 0) return false
  const tables = rows.map(({ name }) => `${schema}.${quoteIdentifier(name ?? '')}`)
  await tx.exec(`drop table if exists ${tables.join(', ')} cascade`)
  return true
}

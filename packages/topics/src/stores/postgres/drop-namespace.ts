import type { Database } from './database.ts'
import { quoteIdentifier } from './schema-name.ts'

/** Each table takes a few locks of a table of limited size, so thousands can't go in one transaction. */
const TABLES_AT_ONCE = 100

const PARTITIONS = `
  select c.relname as name
  from pg_class as c
  join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relispartition and c.relkind = 'r'
  limit ${TABLES_AT_ONCE}`

export async function dropNamespace(database: Database): Promise<void> {
  const schema = quoteIdentifier(database.schema)
  for (;;) {
    const rows = await database.query(PARTITIONS, [database.schema])
    if (rows.length === 0) break
    const tables = rows.map(({ name }) => `${schema}.${quoteIdentifier(name ?? '')}`)
    await database.query(`drop table if exists ${tables.join(', ')}`)
  }
  await database.query(`drop schema if exists ${schema} cascade`)
}

import { again, type Database, MAINTENANCE_TIMEOUT_MS } from './database.ts'
import { goneError } from './incarnations.ts'
import { bundlePrefix, quoteIdentifier } from './schema-name.ts'

/** Each table takes a few locks of a table of limited size, so thousands can't go in one transaction. */
const TABLES_AT_ONCE = 100

const PARTITIONS = `
  select c.relname as name
  from pg_class as c
  join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relispartition and c.relkind = 'r'
  limit ${TABLES_AT_ONCE}`

/** The functions of all versions that use the namespace. */
const BUNDLES = 'select nspname as name from pg_namespace where starts_with(nspname, $1)'

export async function dropNamespace(database: Database): Promise<void> {
  const schema = quoteIdentifier(database.schema)
  for (;;) {
    const rows = await database.work(PARTITIONS, [database.schema])
    if (rows.length === 0) break
    const tables = rows.map(({ name }) => `${schema}.${quoteIdentifier(name ?? '')}`)
    await database.expecting({}, () => database.work(`drop table if exists ${tables.join(', ')}`))
  }
  await again(() =>
    database.transaction(async client => {
      // Two that drop it at once come one after the other, and whoever is second finds that it is gone.
      await client.query(`lock table ${schema}.namespace in access exclusive mode`)
      const { rows } = await client.query<{ incarnation: string }>(`select incarnation from ${schema}.namespace`)
      if (rows[0]?.incarnation !== database.incarnation) throw database.guard.gone(goneError(database, ''))
      const { rows: bundles } = await client.query<{ name: string }>(BUNDLES, [bundlePrefix(database.schema)])
      const schemas = [schema, ...bundles.map(({ name }) => quoteIdentifier(name))]
      await client.query(`drop schema ${schemas.join(', ')} cascade`)
    }, MAINTENANCE_TIMEOUT_MS),
  )
}

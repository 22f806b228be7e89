import type { Database } from './database.ts'
import { goneError } from './incarnations.ts'
import { bundlePrefix, quoteIdentifier } from './schema-name.ts'
import type { Transaction } from './transaction.ts'

/**
 * Dropping a table takes several locks, and the server's lock table is limited, so thousands can't be dropped in one
 * transaction.
 */
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
  while (await database.maintenance({}, dropPartitions)) {}
  // The check that other transactions begin with would hold the table that this one locks.
  await database.maintenance(null, async tx => {
    if ((await lockIncarnation(tx)) !== database.incarnation) throw database.guard.gone(goneError(database, ''))
    await dropSchemas(tx)
  })
}

/** False if there are none left. */
async function dropPartitions(tx: Transaction): Promise<boolean> {
  const rows = await tx.query(PARTITIONS, [tx.schema])
  if (rows.length === 0) return false
  const tables = rows.map(({ name }) => `${quoteIdentifier(tx.schema)}.${quoteIdentifier(name ?? '')}`)
  await tx.exec(`drop table if exists ${tables.join(', ')}`)
  return true
}

/** Serialises concurrent drops; the second finds the namespace gone. */
async function lockIncarnation(tx: Transaction): Promise<string | undefined> {
  await tx.exec(tx.sql('lock table tidemark.namespace in access exclusive mode'))
  const [row] = await tx.query(tx.sql('select incarnation from tidemark.namespace'))
  return row?.incarnation ?? undefined
}

async function dropSchemas(tx: Transaction): Promise<void> {
  const bundles = await tx.query(BUNDLES, [bundlePrefix(tx.schema)])
  const schemas = [tx.schema, ...bundles.map(({ name }) => name ?? '')].map(quoteIdentifier)
  await tx.exec(`drop schema ${schemas.join(', ')} cascade`)
}

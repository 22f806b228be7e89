import { DatabaseReadOnlyError } from '../../errors.ts'
import type { Database } from './database.ts'
import { BUNDLE_HASH } from './function-bundle.ts'
import type { Row } from './row.ts'
import { bundlePrefix, lockKey, quoteIdentifier } from './schema-name.ts'
import type { Statements, Transaction } from './transaction.ts'

/** A bundle that no process has used for this long is dropped: longer than any rolling deployment. */
const KEPT_UNUSED = "interval '7 days'"
/** How often a process records that it uses its bundle. */
export const NOTED_EVERY = "interval '1 hour'"

/** Whether the bundle was installed completely and for the current tables (see functions/bundle.sql). */
const IS_COMPLETE = `exists (
    select from pg_proc as p
    join pg_namespace as f on f.oid = p.pronamespace
    join pg_class as c on c.reltype = p.proargtypes[0]
    join pg_namespace as t on t.oid = c.relnamespace
    where f.nspname = $1 and p.proname = 'belongs_to' and t.nspname = $2 and c.relname = 'namespace'
  )`

const LOOK = `select where ${IS_COMPLETE}`

const FIND = `
  select ${IS_COMPLETE} and b.hash is not null as is_there, b.last_used_at < clock_timestamp() - ${NOTED_EVERY} as is_due
  from (select $3 as hash) as own
  left join tidemark.function_bundle as b on b.hash = own.hash`

const NOTE = 'update tidemark.function_bundle set last_used_at = clock_timestamp() where hash = $1'

/** Whether somebody was granted usage of the tables' schema but not yet of the functions' schema. */
const IS_UNSHARED = `
  select
  from pg_namespace as t
  cross join aclexplode(t.nspacl) as a
  left join pg_namespace as f on f.nspname = $1
  where t.nspname = $2 and a.privilege_type = 'USAGE' and a.grantee is distinct from f.nspowner and not exists (
    select from aclexplode(f.nspacl) as b where b.grantee = a.grantee and b.privilege_type = 'USAGE'
  )`

/**
 * Bundles that have not been used for long, and remains of a namespace that was dropped by hand. Only those we may
 * drop.
 */
const UNUSED = `
  select n.nspname as schema, b.hash
  from pg_namespace as n
  left join tidemark.function_bundle as b on n.nspname = $1 || b.hash
  where starts_with(n.nspname, $1) and n.nspname <> $2 and pg_has_role(n.nspowner, 'usage')
    and (b.hash is null or b.last_used_at < clock_timestamp() - ${KEPT_UNUSED})`

const FORGET = `
  delete from tidemark.function_bundle
  where hash = $1 and last_used_at < clock_timestamp() - ${KEPT_UNUSED}
  returning hash`

/** Read-only. The tables need not exist. */
export async function areFunctionsInstalled(statements: Statements): Promise<boolean> {
  return (await statements.query(LOOK, [statements.functions, statements.schema])).length > 0
}

/** Everybody who may use the tables may use the functions. */
export async function areFunctionsShared(statements: Statements): Promise<boolean> {
  return (await statements.query(IS_UNSHARED, [statements.functions, statements.schema])).length === 0
}

/**
 * Records that this process uses its bundle, so that it is kept. False if the bundle is missing and must be installed.
 */
export async function useFunctions(statements: Statements): Promise<boolean> {
  const [row] = await statements.query(statements.sql(FIND), [statements.functions, statements.schema, BUNDLE_HASH])
  if (row?.is_there !== 't') return false
  if (row.is_due === 't') await noteUse(statements)
  return true
}

/** Records that this process uses its bundle. */
export async function noteUse(statements: Statements): Promise<void> {
  await statements.query(statements.sql(NOTE), [BUNDLE_HASH]).catch(unlessReadOnly)
}

/** Inspecting a replica is fine; processes that write to the primary keep the bundle. */
function unlessReadOnly(error: unknown): void {
  if (!(error instanceof DatabaseReadOnlyError)) throw error
}

/** Drops bundles that no version in use needs any more. */
export async function dropUnusedFunctions(database: Database): Promise<void> {
  // Nearly always there are none, and nobody needs to wait for the lock.
  if ((await findUnused(database)).length > 0) await database.transaction(null, dropUnused)
}

const findUnused = (statements: Statements): Promise<Row[]> =>
  statements.query(statements.sql(UNUSED), [bundlePrefix(statements.schema), statements.functions])

async function dropUnused(tx: Transaction): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1)', [migrationLock(tx.schema)])
  for (const { schema, hash } of await findUnused(tx)) {
    // A process that has just come back to the bundle keeps it.
    if (hash !== null && (await tx.query(tx.sql(FORGET), [hash])).length === 0) continue
    await tx.exec(`drop schema if exists ${quoteIdentifier(schema ?? '')} cascade`)
  }
}

/** Held by whoever changes the schemas of a namespace. */
export const migrationLock = (schema: string): string => lockKey(schema, 'migrate')

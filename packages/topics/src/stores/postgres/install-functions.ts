import { DatabaseReadOnlyError } from '../../errors.ts'
import type { Database } from './database.ts'
import { BUNDLE_HASH } from './function-bundle.ts'
import { bundlePrefix, lockKey, quoteIdentifier } from './schema-name.ts'

/** A bundle that no process has used for so long is dropped: longer than any rolling deployment. */
const KEPT_UNUSED = "interval '7 days'"
/** How often a process notes that it uses its bundle. */
const NOTED_EVERY = "interval '1 hour'"

/** The bundle was installed completely, and for these very tables (see functions/bundle.sql). */
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

/** Somebody was granted the use of the tables' schema, and not yet that of the functions'. */
const IS_UNSHARED = `
  select
  from pg_namespace as t
  cross join aclexplode(t.nspacl) as a
  left join pg_namespace as f on f.nspname = $1
  where t.nspname = $2 and a.privilege_type = 'USAGE' and a.grantee is distinct from f.nspowner and not exists (
    select from aclexplode(f.nspacl) as b where b.grantee = a.grantee and b.privilege_type = 'USAGE'
  )`

/** Bundles that nobody has used for long, and what is left of a namespace that was dropped by hand. Only what is ours to drop. */
const UNUSED = `
  select n.nspname as schema, b.hash
  from pg_namespace as n
  left join tidemark.function_bundle as b on n.nspname = $1 || b.hash
  where starts_with(n.nspname, $1) and n.nspname <> $2 and pg_has_role(n.nspowner, 'usage')
    and (b.hash is null or b.last_used_at < clock_timestamp() - ${KEPT_UNUSED})`

const FORGET = `
  delete from tidemark.function_bundle
  where hash = $1 and last_used_at < clock_timestamp() - ${KEPT_UNUSED}`

type Look = (text: string, values: unknown[]) => Promise<unknown[]>

/** Looks only. The tables need not be there. */
export async function areFunctionsInstalled(
  database: Database,
  query: Look = database.query.bind(database),
): Promise<boolean> {
  return (await query(LOOK, [database.functions, database.schema])).length > 0
}

/** Whoever may use the tables may use the functions. */
export async function areFunctionsShared(
  database: Database,
  query: Look = database.query.bind(database),
): Promise<boolean> {
  return (await query(IS_UNSHARED, [database.functions, database.schema])).length === 0
}

/** Notes that this process uses its bundle, so that it is kept. False where the bundle is not there: install it. */
export async function useFunctions(database: Database): Promise<boolean> {
  const [row] = await database.query(database.sql(FIND), [database.functions, database.schema, BUNDLE_HASH])
  if (row?.is_there !== 't') return false
  if (row.is_due === 't') await database.query(database.sql(NOTE), [BUNDLE_HASH]).catch(unlessReadOnly)
  return true
}

/** A replica may be looked into; who writes to the primary keeps the bundle. */
function unlessReadOnly(error: unknown): void {
  if (!(error instanceof DatabaseReadOnlyError)) throw error
}

/** Drops the bundles that no version in use needs any more. */
export async function dropUnusedFunctions(database: Database): Promise<void> {
  const values = [bundlePrefix(database.schema), database.functions]
  // Nearly always there are none, and nobody needs to wait for the lock.
  if ((await database.query(database.sql(UNUSED), values)).length === 0) return
  await database.transaction(async client => {
    await client.query('select pg_advisory_xact_lock($1)', [migrationLock(database.schema)])
    const { rows } = await client.query<{ schema: string; hash: string | null }>(database.sql(UNUSED), values)
    for (const { schema, hash } of rows) {
      // A process that has come back to it in this moment keeps it.
      if (hash !== null && (await client.query(database.sql(FORGET), [hash])).rowCount === 0) continue
      await client.query(`drop schema if exists ${quoteIdentifier(schema)} cascade`)
    }
  })
}

/** Whoever changes the schemas of a namespace holds this lock. */
export const migrationLock = (schema: string): string => lockKey(schema, 'migrate')

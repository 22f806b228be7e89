import { checksumOf } from '../migration-checksums.ts'
import { BUNDLE_HASH, FUNCTIONS } from './function-bundle.ts'
import { quoteIdentifier } from './schema-name.ts'
import { sqlFile } from './sql-file.ts'
import type { Statements } from './transaction.ts'

/**
 * A numbered file of schema/: tables, indexes and sequences. A released file is never edited; changes go into the next
 * one.
 */
type Migration = { readonly sql: string; readonly checksum: string }

const toMigration = (sql: string): Migration => ({ sql, checksum: checksumOf(sql) })

export const MIGRATIONS: readonly Migration[] = ['001_tables.sql', '002_backfill_slowed.sql'].map(file =>
  toMigration(sqlFile(`./schema/${file}`)),
)

/** The parts of a namespace that exist already. */
export type Present = {
  readonly hasSchema: boolean
  /** Version of the tables; 0 if there are none. */
  readonly version: number
  readonly hasFunctions: boolean
  /** Whether everybody who may use the tables' schema may use the functions' schema too. */
  readonly hasGrants: boolean
}

type Names = Pick<Statements, 'schema' | 'functions' | 'sql'>

const CREATE_MIGRATION = `
create table if not exists tidemark.migration (
  version int primary key,
  checksum text not null,
  applied_at timestamptz not null default clock_timestamp()
);`

const RECORD_BUNDLE = `
insert into tidemark.function_bundle as b (hash) values ('${BUNDLE_HASH}')
on conflict (hash) do update
set installed_at = clock_timestamp(), last_used_at = clock_timestamp();`

/**
 * The SQL that upgrades a namespace: `migrate` runs it in a transaction, and `tidemark migrate --sql` prints it. A
 * schema created by an administrator is not created again: even "if not exists" requires the permission.
 */
export function upgradeSql(names: Names, present: Present): string {
  const pending = MIGRATIONS.slice(present.version).map(({ sql, checksum }, index) => {
    const version = present.version + index + 1
    return `${sql}\ninsert into tidemark.migration (version, checksum) values (${version}, '${checksum}');`
  })
  const parts = [
    ...(present.hasSchema ? [] : [`create schema if not exists ${quoteIdentifier(names.schema)};`]),
    ...(present.version === 0 ? [CREATE_MIGRATION] : []),
    ...pending,
    ...(present.hasFunctions ? [] : [installation(names)]),
    ...(present.hasGrants ? [] : [grantLike(names)]),
    RECORD_BUNDLE,
  ]
  return names.sql(parts.join('\n'))
}

/**
 * Replaces the remains of an earlier attempt. Bodies are checked by a test, so the order of functions does not matter
 * here.
 */
function installation({ functions }: Names): string {
  const bundle = quoteIdentifier(functions)
  return `
drop schema if exists ${bundle} cascade;
create schema ${bundle};
set local check_function_bodies = off;
${FUNCTIONS}`
}

/**
 * The grants that IS_UNSHARED finds missing. Everybody who may use the tables' schema may use the functions', so that a
 * grant holds for every version.
 */
const grantLike = ({ schema, functions }: Names): string => `
do $grant$
declare
  who text;
begin
  for who in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_namespace as n
    cross join aclexplode(n.nspacl) as a
    where n.nspname = ${quoteLiteral(schema)} and a.privilege_type = 'USAGE'
  loop
    execute format('grant usage on schema %I to %s', ${quoteLiteral(functions)}, who);
  end loop;
end
$grant$;`

/** Only for our own names, which contain no backslash. */
const quoteLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`

import { Options } from './options/options.ts'
import type { DatabaseAddress } from './stores/driver.ts'
import type { Operator, SchemaVersions } from './stores/operator.ts'
import { resolveOperator } from './stores/registry.ts'
import type { RepairReport } from './stores/repair-report.ts'

/** Options of `migrate`, `repair` and `schemaVersions`. */
export type NamespaceOptions = {
  /** Namespace (default `'default'`). */
  namespace?: string
}

/**
 * Return the schema version of a namespace without changing it.
 *
 * @example
 * const { found, newest } = await schemaVersions('sqlite:./data/app.db')
 * if (found < newest) console.log('run migrate() first')
 */
export async function schemaVersions(database: DatabaseAddress, options?: NamespaceOptions): Promise<SchemaVersions> {
  const operator = await operatorOf('schemaVersions', database, options)
  return await operator.versions()
}

/**
 * Create or upgrade the tables of a namespace, as `open` does, and return the versions. A schema newer than this
 * program is refused.
 *
 * @example
 * const { found, newest } = await migrate('postgres://user@host/database', { namespace: 'run-7' })
 * if (found < newest) console.log(`upgraded from ${found} to ${newest}`)
 */
export async function migrate(database: DatabaseAddress, options?: NamespaceOptions): Promise<SchemaVersions> {
  const operator = await operatorOf('migrate', database, options)
  return await operator.migrate()
}

/**
 * Return the SQL that `migrate` would run now, for programs without the right to create tables. Run it with psql (or the
 * sqlite3 shell); it begins its own transaction. Empty if the namespace is up to date. Nothing is changed.
 *
 * @example
 * const sql = await migrationSql('postgres://app@db/shop')
 */
export async function migrationSql(database: DatabaseAddress, options?: NamespaceOptions): Promise<string> {
  const operator = await operatorOf('migrationSql', database, options)
  return await operator.migrationSql()
}

/**
 * Repair a namespace that no program has open. On PostgreSQL: after a logical dump was loaded into another cluster; no
 * message is lost, and no acknowledged message is redelivered. On SQLite: check the integrity of the file and rebuild
 * its indexes. Repeating it is safe.
 *
 * @example
 * const { problems, changes } = await repair('postgres://user@new-host/database')
 * console.log(problems, changes)
 */
export async function repair(database: DatabaseAddress, options?: NamespaceOptions): Promise<RepairReport> {
  const operator = await operatorOf('repair', database, options)
  return await operator.repair()
}

/** The operator of the namespace given to a call. */
export async function operatorOf(call: string, database: unknown, given: unknown): Promise<Operator> {
  const options = new Options(call, given)
  const namespace = options.value('namespace')
  options.done()
  return await resolveOperator(`${call}.url`, database, namespace)
}

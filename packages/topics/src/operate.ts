import { type Address, parseAddress } from './address.ts'
import { Options } from './options.ts'
import type { SchemaVersions } from './stores/operator.ts'
import { operatorOf } from './stores/operators.ts'
import type { RepairReport } from './stores/repair-report.ts'

export type NamespaceOptions = { namespace?: string }

/** What schema a namespace has, without changing it. */
export async function schemaVersions(url: string, options?: NamespaceOptions): Promise<SchemaVersions> {
  return await operatorOf(addressOf('schemaVersions', url, options)).versions()
}

/** Creates or upgrades a namespace's tables, as `open` does, and says what version was found. A newer one is refused. */
export async function migrate(url: string, options?: NamespaceOptions): Promise<SchemaVersions> {
  return await operatorOf(addressOf('migrate', url, options)).migrate()
}

/**
 * The SQL that `migrate` would run now, for teams whose programs have no right to create tables: run it with psql (or the
 * sqlite3 shell), in the transaction that it begins itself. '' where the namespace is up to date. Changes nothing.
 *
 * @example
 * const sql = await migrationSql('postgres://app@db/shop')
 */
export async function migrationSql(url: string, options?: NamespaceOptions): Promise<string> {
  return await operatorOf(addressOf('migrationSql', url, options)).migrationSql()
}

/**
 * Mends a namespace that nobody has open. On PostgreSQL, one that a logical dump brought into another cluster: nothing is
 * lost by it, and nothing that was acknowledged comes again. On SQLite, the file's integrity is checked and its indexes are
 * rebuilt. Again changes nothing.
 */
export async function repair(url: string, options?: NamespaceOptions): Promise<RepairReport> {
  return await operatorOf(addressOf('repair', url, options)).repair()
}

export function addressOf(call: string, url: unknown, given: unknown): Address {
  const options = new Options(call, given)
  const namespace = options.value('namespace')
  options.done()
  return parseAddress(`${call}.url`, url, namespace)
}

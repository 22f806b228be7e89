import type { Operator } from '../operator.ts'
import { Database } from './database.ts'
import { mapError } from './database-errors.ts'
import { diagnose } from './diagnose.ts'
import { areFunctionsInstalled } from './install-functions.ts'
import { migrateAndTidy, migrationSql, NEWEST, schemaVersion } from './migrate.ts'
import { repair } from './repair.ts'

/** What goes wrong is thrown, or is a finding: there is nobody to read a log. */
const QUIET = { debug() {}, info() {}, warn() {}, error() {} }

export function postgresOperator(url: string, namespace: string): Operator {
  const connected = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    const applicationName = 'tidemark-operator'
    const database = new Database({ url, namespace, poolSize: 2, applicationName, logger: QUIET })
    try {
      return await work(database)
    } catch (error) {
      throw mapError(error, database.location)
    } finally {
      await database.close()
    }
  }
  const versionsBy = (find: (database: Database) => Promise<number>) =>
    connected(async database => {
      const hasFunctions = await areFunctionsInstalled(database)
      return { location: database.location, found: await find(database), newest: NEWEST, hasFunctions }
    })
  return {
    versions: () => versionsBy(schemaVersion),
    migrate: () => versionsBy(migrateAndTidy),
    migrationSql: () => connected(migrationSql),
    repair: () => connected(repair),
    diagnose: () => connected(diagnose),
  }
}

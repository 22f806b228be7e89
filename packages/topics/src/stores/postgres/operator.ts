import type { Operator } from '../operator.ts'
import { type ConnectionSource, connectTo } from './connection-source.ts'
import { Database, functionsOf } from './database.ts'
import { mapError } from './database-errors.ts'
import { diagnose } from './diagnose.ts'
import { areFunctionsInstalled } from './install-functions.ts'
import { migrateAndTidy, migrationSql, NEWEST, schemaVersion } from './migrate.ts'
import { repair } from './repair.ts'
import { STATEMENT_TIMEOUT_MS } from './statement-limits.ts'

/** Problems are thrown or become findings: nobody reads a log here. */
const QUIET = { debug() {}, info() {}, warn() {}, error() {} }

export function postgresOperator(source: ConnectionSource, namespace: string): Operator {
  const connected = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    const applicationName = 'tidemark-operator'
    const statementTimeoutMs = STATEMENT_TIMEOUT_MS
    const functions = functionsOf(namespace)
    const settings = { poolSize: 2, applicationName, statementTimeoutMs, functions, logger: QUIET }
    const connections = await connectTo(source, settings)
    const database = new Database({ connections, namespace, logger: QUIET, statementTimeoutMs })
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

import type { Finding } from './finding.ts'
import type { RepairReport } from './repair-report.ts'

/** Schema versions of a namespace. */
export type SchemaVersions = {
  /** Location of the database, without secrets. */
  readonly location: string
  /** Version found in the database; 0: none. */
  readonly found: number
  /** Version of this program. */
  readonly newest: number
  /** Whether the database functions of this program are installed. Always true on SQLite, which has none. */
  readonly hasFunctions: boolean
}

/** Result of a diagnosis. */
export type Diagnosis = {
  /** What was found. */
  readonly findings: readonly Finding[]
  /** Whether the namespace can be opened without a migration. */
  readonly usable: boolean
}

/** What an engine does for a namespace that does not have to be open. */
export type Operator = {
  /** Schema versions of the namespace. Changes nothing. */
  versions(): Promise<SchemaVersions>
  /** Brings the schema up to date; `found` is the version it had. */
  migrate(): Promise<SchemaVersions>
  /** SQL script that `migrate` would run; '' if there is nothing to do. Changes nothing. */
  migrationSql(): Promise<string>
  /** Repairs a namespace that was restored from another server. */
  repair(): Promise<RepairReport>
  /** Checks the namespace. Changes nothing; a problem is a finding, never an error. */
  diagnose(): Promise<Diagnosis>
}

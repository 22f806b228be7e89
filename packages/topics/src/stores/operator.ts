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

export type Diagnosis = {
  readonly findings: readonly Finding[]
  /** It can be opened as it is, without a migration. */
  readonly usable: boolean
}

/** What an engine does for a namespace that nobody needs to have open. */
export type Operator = {
  /** Looks only. */
  versions(): Promise<SchemaVersions>
  /** Brings the schema up to date; `found` is the version it had. */
  migrate(): Promise<SchemaVersions>
  /** What `migrate` would run, as one script; '' where nothing is to be done. Looks only. */
  migrationSql(): Promise<string>
  repair(): Promise<RepairReport>
  /** Looks only. What is wrong is a finding, never an error. */
  diagnose(): Promise<Diagnosis>
}

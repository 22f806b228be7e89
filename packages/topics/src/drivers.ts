/** `tidemark/drivers`: other libraries to reach the database through. See docs/guides/connections.md. */
export type { Driver } from './stores/driver.ts'
export type {
  PostgresDriver,
  PostgresListener,
  PostgresListening,
  PostgresTransaction,
  PostgresWork,
} from './stores/postgres/driver.ts'
export { type PGliteDatabase, pglite } from './stores/postgres/drivers/pglite.ts'
export { type PostgresJs, postgresJs } from './stores/postgres/drivers/postgres-js.ts'
export type { Row } from './stores/postgres/row.ts'
export type {
  SqliteDatabase,
  SqliteDriver,
  SqliteOpenOptions,
  SqliteStatement,
  SqlValue,
} from './stores/sqlite/driver.ts'
export {
  type BetterSqlite3Class,
  type BetterSqlite3Database,
  betterSqlite3,
} from './stores/sqlite/drivers/better-sqlite3.ts'
export { type LibsqlClass, type LibsqlDatabase, libsql } from './stores/sqlite/drivers/libsql.ts'

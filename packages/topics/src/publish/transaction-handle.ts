type Method = (...args: never[]) => unknown

/**
 * The object that runs the statements of your open transaction. On PostgreSQL: a `pg` client after `begin`, the `sql` of
 * postgres.js `begin()`, the transaction of Kysely, Drizzle, Knex, pg-promise, PGlite, Sequelize or Prisma, the entity
 * manager or query runner of TypeORM, the entity manager of MikroORM, or any object with `query(text, values)`. On SQLite: the
 * connection of the library that Tidemark was opened with, after `begin` (a `DatabaseSync` of `node:sqlite`, a database of
 * `better-sqlite3` or `libsql`), or the transaction of Drizzle on it.
 */
export type TransactionHandle =
  | { readonly query: Method }
  | { readonly unsafe: Method }
  | { readonly executeQuery: Method }
  | { readonly execute: Method }
  | { readonly raw: Method }
  | { readonly $queryRawUnsafe: Method }
  | { readonly commit: Method; readonly rollback: Method }
  | { readonly prepare: Method }
  | { readonly run: Method; readonly all: Method; readonly transaction: Method }

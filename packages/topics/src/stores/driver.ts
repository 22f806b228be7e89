import type { PostgresDriver } from './postgres/driver.ts'
import type { PgPool } from './postgres/drivers/pg-pool.ts'
import type { SqliteDriver } from './sqlite/driver.ts'

export type { PgPool } from './postgres/drivers/pg-pool.ts'
export type { ClientFactory, PgClient } from './postgres/session.ts'

/** A library that Tidemark reaches the database through, for `open({ driver })`. See `tidemark/drivers`. */
export type Driver = PostgresDriver | SqliteDriver

/**
 * Where topics live: a URL, the program's own pool of the package `pg`, or a driver.
 *
 * @example
 * const addresses: DatabaseAddress[] = ['sqlite:./data/app.db', 'postgres://user@host/database', { postgres: new pg.Pool() }]
 */
export type DatabaseAddress = string | { readonly postgres: PgPool } | { readonly driver: Driver }

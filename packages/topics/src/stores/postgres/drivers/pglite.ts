import { ConfigError } from '../../../errors.ts'
import type { PostgresDriver } from '../driver.ts'
import type { Row } from '../row.ts'
import { quoteIdentifier } from '../schema-name.ts'

/** A `PGlite` of the package `@electric-sql/pglite`. */
export type PGliteDatabase = {
  /** How values are converted, by type. */
  readonly parsers: object
  /** Runs a transaction. */
  readonly transaction: (...args: never[]) => unknown
  /** Listens to notifications. */
  readonly listen: (...args: never[]) => unknown
}

type Database = {
  readonly parsers: object
  readonly dataDir?: string
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>
}

type Transaction = {
  query(text: string, values: unknown[], options: Conversions): Promise<{ readonly rows: unknown[] }>
  exec(text: string, options?: Conversions): Promise<readonly { readonly rows: unknown[] }[]>
}

type Conversions = { readonly parsers?: object; readonly serializers?: object }

const BEGIN = 'set transaction isolation level read committed, read write'
const asIs = (value: unknown): string => value as string
/** Parameters are text already, whatever their type. */
const SERIALIZERS = new Proxy({}, { get: () => asIs })

/**
 * Topics in `PGlite`, PostgreSQL inside this process. It has one connection: Tidemark's transactions and yours take
 * turns, so publish inside a transaction of yours with `tx`.
 *
 * @example
 * const db = new PGlite('./data/pglite')
 * const tm = await open({ driver: pglite(db) })
 */
export function pglite(given: PGliteDatabase): PostgresDriver {
  if (!isPGlite(given)) throw new ConfigError('pglite', typeof given, "a PGlite of '@electric-sql/pglite'")
  const db = given as unknown as Database
  return {
    engine: 'postgres',
    name: 'PGlite',
    location: `PGlite (${db.dataDir || 'memory'})`,
    maxConnections: 1,
    transaction: (setup, work) =>
      db.transaction(async tx => {
        const options = asText(db)
        const results = await tx.exec(`${BEGIN}; ${setup}`, options)
        const query = async (text: string, values: readonly unknown[]): Promise<Row[]> =>
          (await tx.query(text, [...values], { ...options, serializers: SERIALIZERS })).rows as Row[]
        return await work({ query, exec: text => tx.exec(text) }, (results.at(-1)?.rows ?? []) as Row[])
      }),
    async listen(channel, on) {
      const unlisten = await db.listen(quoteIdentifier(channel), payload => on.heard(payload))
      return { close: () => unlisten() }
    },
  }
}

/** The text that the server sent: PGlite only takes parsers by type, and leaves types without one alone. */
const asText = ({ parsers }: Database): Conversions => ({
  parsers: Object.fromEntries(Object.keys(parsers).map(type => [type, asIs])),
})

const isPGlite = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'transaction' in value && 'listen' in value && 'parsers' in value

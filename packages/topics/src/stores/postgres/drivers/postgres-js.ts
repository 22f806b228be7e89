import { ConfigError } from '../../../errors.ts'
import type { PostgresDriver, PostgresWork } from '../driver.ts'
import type { Row } from '../row.ts'

/** What `postgres(…)` of the package `postgres`, version 3, returns. */
export type PostgresJs = {
  /** Its options. */
  readonly options: object
  /** Runs a transaction. */
  readonly begin: (...args: never[]) => unknown
  /** Listens to notifications. */
  readonly listen: (...args: never[]) => unknown
}

type Sql = {
  readonly options: {
    readonly host?: unknown
    readonly port?: unknown
    readonly database?: unknown
    readonly max?: unknown
    readonly transform?: { readonly column?: Renaming }
  }
  begin(options: string, work: (tx: Transaction) => Promise<unknown>): Promise<unknown>
  listen(
    channel: string,
    heard: (payload: string) => void,
    listening: () => void,
  ): Promise<{ unlisten(): Promise<unknown> }>
}

type Renaming = { readonly from?: unknown; readonly to?: unknown }

type Transaction = {
  unsafe(text: string, values?: unknown[], options?: { prepare: boolean }): Query
  typed(value: unknown, type: number): unknown
}

type Query = {
  raw(): PromiseLike<unknown>
  cancel(): unknown
}

/** The server infers the type of a parameter, and the library sends it unchanged. */
const UNKNOWN_TYPE = 705

/**
 * Topics on PostgreSQL through the package `postgres` (postgres.js, version 3). Tidemark uses connections of `sql`, and
 * its LISTEN connection; it never ends them.
 *
 * @example
 * const sql = postgres('postgres://user@host/database')
 * const tm = await open({ driver: postgresJs(sql) })
 */
export function postgresJs(given: PostgresJs): PostgresDriver {
  if (!isInstance(given)) throw new ConfigError('postgresJs', typeof given, "what postgres(…) of 'postgres' returns")
  const sql = given as unknown as Sql
  const nameOf = originalNames(sql)
  const { host, port, database, max } = sql.options
  return {
    engine: 'postgres',
    name: 'postgres.js',
    location: `${first(host) ?? 'localhost'}:${first(port) ?? 5432}/${database ?? ''}`,
    maxConnections: typeof max === 'number' ? max : 10,
    async transaction<T>(setup: string, work: PostgresWork<T>, signal: AbortSignal) {
      const result = await sql.begin('isolation level read committed read write', async tx => {
        const { send, exec, query } = senderOf(tx, signal, nameOf)
        const rows = await send(tx.unsafe(setup))
        return { value: await work({ exec, query }, rows) }
      })
      return (result as { value: T }).value
    },
    async listen(channel, on) {
      let hasListened = false
      const { unlisten } = await sql.listen(
        channel,
        payload => on.heard(payload),
        () => {
          // The library reconnects by itself; notifications sent meanwhile are missed.
          if (hasListened) on.heard(null)
          hasListened = true
        },
      )
      return { close: async () => void (await unlisten()) }
    },
  }
}

/** The library renames columns as they arrive, for example with `postgres.camel`; that has to be undone. */
function originalNames({ options: { transform } }: Sql): (column: string) => string {
  const { from, to } = transform?.column ?? {}
  if (typeof from !== 'function') return name => name
  const there = (name: string): string => String(from(name))
  const back = (name: string): string => (typeof to === 'function' ? String(to(name)) : name)
  const isUndone = ['id', 'server_version_num', 'is_known'].every(name => back(there(name)) === name)
  if (isUndone) return back
  throw new ConfigError(
    'postgresJs.transform',
    'a function that renames columns',
    'no transform of column names, or one that works both ways, such as postgres.camel',
  )
}

function isInstance(value: unknown): boolean {
  return typeof value === 'function' && 'begin' in value && 'listen' in value && 'options' in value
}

function senderOf(tx: Transaction, signal: AbortSignal, nameOf: (column: string) => string) {
  const send = async (query: Query): Promise<Row[]> => {
    // A single connection can't be dropped; it goes away when the library or the kernel finds that it is dead.
    const cancel = (): void => void query.cancel()
    signal.addEventListener('abort', cancel)
    try {
      return await rawRows(query, nameOf)
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
  const typed = (value: unknown): unknown => (value === null ? null : tx.typed(value, UNKNOWN_TYPE))
  return {
    send,
    exec: (text: string) => send(tx.unsafe(text)),
    query: (text: string, values: readonly unknown[], name?: string) =>
      send(tx.unsafe(text, values.map(typed), { prepare: name !== undefined })),
  }
}

type RawResult = { readonly columns?: readonly { readonly name: string }[] } & readonly (readonly (Buffer | null)[])[]

/**
 * The rows as the server sent them, bypassing the library's parsers and transforms. For several statements, those of
 * the last.
 */
async function rawRows(query: Query, nameOf: (column: string) => string): Promise<Row[]> {
  const result = (await query.raw()) as RawResult | readonly RawResult[]
  const last = (isSeveral(result) ? result.at(-1) : result) as RawResult | undefined
  const names = last?.columns?.map(({ name }) => nameOf(name)) ?? []
  return (last ?? []).map(row => Object.fromEntries(names.map((name, index) => [name, textOf(row[index])])))
}

/** The result of several statements is a list of results. */
const isSeveral = (result: RawResult | readonly RawResult[]): result is readonly RawResult[] =>
  !('columns' in result && 'command' in result)

const textOf = (value: Buffer | null | undefined): string | null => value?.toString('utf8') ?? null

const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value)

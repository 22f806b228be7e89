import { DatabaseUnreachableError } from '../../../errors.ts'
import type { PostgresDriver, PostgresListener, PostgresWork } from '../driver.ts'
import type { Row } from '../row.ts'
import { quoteIdentifier } from '../schema-name.ts'

/** A `Pool` of the package `pg`, version 8, of any copy. */
export type PgPool = {
  /** Acquires a client. */
  readonly connect: (...args: never[]) => unknown
  /** Runs one statement. */
  readonly query: (...args: never[]) => unknown
  /** Number of clients in the pool. */
  readonly totalCount: number
}

type Pool = { connect(): Promise<PoolClient>; readonly ending?: boolean }

type PoolClient = {
  query(config: Query): Promise<{ readonly rows: unknown[] }>
  on(event: string, listener: (value: unknown) => void): unknown
  removeListener(event: string, listener: (value: unknown) => void): unknown
  release(destroy?: boolean): void
}

type Query = {
  readonly text: string
  readonly values?: unknown[]
  readonly name?: string
  readonly types?: typeof AS_TEXT
}

type Notification = { readonly channel: string; readonly payload?: string }

/** All values as the text that the server sent. */
const AS_TEXT = { getTypeParser: () => (value: string) => value }
const BEGIN = 'begin isolation level read committed, read write'
/** How many clients returned in the middle of a transaction are skipped before the pool is given up. */
const MOST_UNUSABLE = 10

export const isPgPool = (value: unknown): value is PgPool =>
  typeof value === 'object' &&
  value !== null &&
  'connect' in value &&
  typeof value.connect === 'function' &&
  'query' in value &&
  // A single client has both methods too.
  'totalCount' in value

/** The program's own pool of `pg`. It is never ended here. */
export function pgPool(given: PgPool): PostgresDriver {
  const pool = given as unknown as Pool
  const location = locationOf(pool)
  // Listening clients, which the end() of a pool waits for.
  const listening = new Set<() => void>()
  const stopOnceEnding = (): void => {
    if (pool.ending) for (const end of listening) end()
  }
  return {
    engine: 'postgres',
    name: 'pg',
    location,
    maxConnections: maxOf(pool),
    sendsBinary: true,
    transaction(setup, work, signal) {
      stopOnceEnding()
      return transact(pool, location, setup, work, signal)
    },
    async listen(channel, on) {
      const { end, ...ear } = await listen(pool, channel, on)
      listening.add(end)
      return {
        query(text, values) {
          stopOnceEnding()
          return ear.query(text, values)
        },
        async close() {
          listening.delete(end)
          end()
        },
      }
    },
  }
}

async function transact<T>(
  pool: Pool,
  location: string,
  setup: string,
  work: PostgresWork<T>,
  signal: AbortSignal,
): Promise<T> {
  const client = await usableClient(pool, location)
  const { send, release, isReleased } = borrow(client)
  const drop = (): void => release(true)
  try {
    if (signal.aborted) throw signal.reason
    signal.addEventListener('abort', drop)
    const rows = await send({ text: `${BEGIN}; ${setup}` })
    const tx = {
      query: (text: string, values: readonly unknown[], name?: string) =>
        send({ text, values: [...values], ...(name !== undefined && { name }) }),
      exec: (text: string) => send({ text }),
    }
    const result = await work(tx, rows)
    await send({ text: 'commit' })
    release(false)
    return result
  } catch (error) {
    const isRolledBack = !isReleased() && (await rollBack(client))
    release(!isRolledBack)
    throw error
  } finally {
    signal.removeEventListener('abort', drop)
  }
}

/** A client of the pool for a while: `release` returns it, once. */
function borrow(client: PoolClient) {
  let released = false
  // A borrowed connection that breaks has no other error listener, which would end the process.
  const ignore = (): void => {}
  client.on('error', ignore)
  return {
    send: async (query: Query): Promise<Row[]> => rowsOf(await client.query({ types: AS_TEXT, ...query })),
    isReleased: () => released,
    release(isBroken: boolean): void {
      if (released) return
      released = true
      // A dropped client may still emit errors.
      if (!isBroken) client.removeListener('error', ignore)
      client.release(isBroken)
    },
  }
}

/** Rows of the last of several statements. */
function rowsOf(result: unknown): Row[] {
  const last = Array.isArray(result) ? result.at(-1) : result
  return (last as { rows: Row[] }).rows
}

async function rollBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query({ text: 'rollback' })
    return true
  } catch {
    // If the rollback fails, dropping the connection rolls the transaction back.
    return false
  }
}

/** Skips clients that are still in somebody's transaction: our commit would commit their work too. */
async function usableClient(pool: Pool, location: string): Promise<PoolClient> {
  for (let attempt = 1; attempt <= MOST_UNUSABLE; attempt++) {
    const client = await pool.connect()
    if (isIdle(client)) return client
    client.release(true)
  }
  throw new DatabaseUnreachableError(
    location,
    new Error('Every client of the pool is in an open transaction: commit or roll back before release()'),
  )
}

function isIdle(client: object): boolean {
  if (!('getTransactionStatus' in client) || typeof client.getTransactionStatus !== 'function') return true
  const status = client.getTransactionStatus()
  return status !== 'T' && status !== 'E'
}

/** One client of the pool, for as long as it listens. */
async function listen(pool: Pool, channel: string, on: PostgresListener) {
  const client = await pool.connect()
  let isOver = false
  const hear = (message: unknown): void => {
    const notification = message as Notification
    if (notification.channel === channel) on.heard(notification.payload ?? '')
  }
  const end = (): void => {
    if (isOver) return
    isOver = true
    client.release(true)
    on.lost()
  }
  client.on('error', end)
  client.on('end', end)
  client.on('notification', hear)
  try {
    await client.query({ text: `listen ${quoteIdentifier(channel)}` })
  } catch (error) {
    end()
    throw error
  }
  // It is not returned to the pool: its LISTEN and its locks would stay with it.
  return { end, query: (text: string, values: readonly string[]) => client.query({ text, values: [...values] }) }
}

type PoolOptions = {
  readonly host?: unknown
  readonly port?: unknown
  readonly database?: unknown
  readonly max?: unknown
}

const optionsOf = (pool: object): PoolOptions =>
  'options' in pool && typeof pool.options === 'object' && pool.options !== null ? pool.options : {}

/** As a client of the pool reads them: it understands URLs and environment variables. */
function locationOf(pool: object): string {
  const options = optionsOf(pool)
  try {
    const Client = 'Client' in pool ? (pool.Client as new (options: object) => PoolOptions) : undefined
    const { host, port, database } = Client === undefined ? options : new Client(options)
    return `${host ?? 'localhost'}:${port ?? 5432}/${database ?? ''}`
  } catch {
    // The driver's error quotes the address including the password.
    return 'the given pool'
  }
}

function maxOf(pool: object): number {
  const { max } = optionsOf(pool)
  return typeof max === 'number' && max > 0 ? max : 10
}

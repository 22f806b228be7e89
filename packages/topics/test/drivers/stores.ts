/** One store for each driver, for the conformance suites. */
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import Database from 'better-sqlite3'
import Libsql from 'libsql'
import pg from 'pg'
import postgres from 'postgres'
import { type DatabaseAddress, type Driver, type OpenOptions, open, type Tidemark } from 'tidemark'
import { type ConformanceDatabase, type ConformanceStore, testDatabase } from 'tidemark/conformance'
import { betterSqlite3, libsql, pglite, postgresJs } from 'tidemark/drivers'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { engineHooks, type Statement } from '../conformance/engine-hooks.ts'
import { SHARED_STORES, SILENT } from '../conformance/stores.ts'

const server = postgresStore()

function postgresStore(): ConformanceStore {
  const store = SHARED_STORES.find(({ name }) => name === 'PostgreSQL')
  if (store === undefined) throw new Error('There is no PostgreSQL')
  return store
}

/** A database of the conformance suites, opened through a driver. */
function opening(
  address: DatabaseAddress,
  database: ConformanceDatabase,
  end: () => Promise<unknown> = async () => {},
): ConformanceDatabase {
  const opened = new Set<Tidemark>()
  return {
    ...database,
    async open(options?: OpenOptions) {
      const tm = await open(address, { logger: SILENT, autoCreate: true, ...options })
      opened.add(tm)
      return tm
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([...opened].map(tm => tm.close()))
      await end()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** What both libraries have in common. */
type Library = new (
  path: string,
  options?: { timeout?: number },
) => {
  exec(sql: string): unknown
  prepare(sql: string): { readonly reader: boolean; run(): unknown; all(): unknown[] }
  close(): unknown
}

/**
 * Tests reach into the file with the same library: two copies of SQLite in one process don't know of each other's locks,
 * and closing the file in one takes them from the other.
 */
function sqliteStore(name: string, Database: Library, driverOf: (path: string) => Driver): ConformanceStore {
  return {
    name,
    lacks: { 'concurrent transactions': 'SQLite has one writer at a time' },
    async fresh() {
      const folder = temporaryFolder()
      const path = join(folder.path, 'app.db')
      const connect = () => new Database(path, { timeout: 5_000 })
      const execute = async ({ sqlite }: Statement): Promise<Record<string, unknown>[]> => {
        const db = connect()
        try {
          const statement = db.prepare(sqlite)
          if (!statement.reader) statement.run()
          return statement.reader ? (statement.all() as Record<string, unknown>[]) : []
        } finally {
          db.close()
        }
      }
      const begin = () => {
        const db = connect()
        db.exec('begin immediate')
        return db
      }
      return opening(
        { driver: driverOf(path) },
        testDatabase(`sqlite:${path}`, {
          ...engineHooks(execute),
          async lock() {
            const db = begin()
            return { isWaitedFor: async () => false, [Symbol.asyncDispose]: async () => void db.close() }
          },
          async begin() {
            const db = begin()
            const end = async (how: string): Promise<void> => {
              db.exec(how)
              db.close()
            }
            return { tx: db, commit: () => end('commit'), rollBack: () => end('rollback') }
          },
          remove: async () => folder[Symbol.dispose](),
        }),
      )
    },
  }
}

const betterSqlite3Store = sqliteStore('better-sqlite3', Database, path => betterSqlite3(Database, path))
const libsqlStore = sqliteStore('libsql', Libsql, path => libsql(Libsql, path))

const pgPoolStore = (max: number): ConformanceStore => ({
  ...server,
  name: `a pg pool of ${max}`,
  async fresh() {
    const database = await server.fresh()
    const pool = new pg.Pool({ connectionString: database.url, max })
    // Dropping the database ends what the pool has not closed yet.
    pool.on('error', () => {})
    return opening({ postgres: pool }, database, () => pool.end())
  },
})

const postgresJsStore: ConformanceStore = {
  ...server,
  name: 'postgres.js',
  async fresh() {
    const database = await server.fresh()
    const sql = postgres(database.url, { max: 4, onnotice() {} })
    return opening({ driver: postgresJs(sql) }, database, () => sql.end({ timeout: 1 }))
  },
}

let shared: PGlite | undefined

/** It takes seconds to start, so its tests share one, and each leaves it empty. */
const pgliteStore: ConformanceStore = {
  ...server,
  name: 'PGlite',
  async fresh() {
    shared ??= new PGlite()
    const db = shared
    const execute = async ({ postgres }: Statement) =>
      ((await db.exec(postgres)).at(-1)?.rows ?? []) as Record<string, unknown>[]
    const remove = () => empty(db)
    return opening({ driver: pglite(db) }, testDatabase('postgres://in-process', { ...engineHooks(execute), remove }))
  },
}

async function empty(db: PGlite): Promise<void> {
  const { rows } = await db.query<{ name: string }>(
    "select quote_ident(nspname) as name from pg_namespace where nspname like 'tidemark%'",
  )
  if (rows.length > 0) await db.exec(`drop schema ${rows.map(({ name }) => name).join(', ')} cascade`)
}

export const DRIVER_STORES = [
  betterSqlite3Store,
  libsqlStore,
  pgPoolStore(5),
  pgPoolStore(1),
  postgresJsStore,
  pgliteStore,
]

/** One store for each driver, for the conformance suites. */
import { PGlite } from '@electric-sql/pglite'
import Database from 'better-sqlite3'
import Libsql from 'libsql'
import pg from 'pg'
import postgres from 'postgres'
import { type DatabaseAddress, type OpenOptions, open, type Tidemark } from 'tidemark'
import { type ConformanceDatabase, type ConformanceStore, testDatabase } from 'tidemark/conformance'
import { betterSqlite3, libsql, pglite, postgresJs } from 'tidemark/drivers'
import { engineHooks, type Statement } from '../conformance/engine-hooks.ts'
import { SHARED_STORES, SILENT } from '../conformance/stores.ts'

const sqlite = builtIn('SQLite')
const server = builtIn('PostgreSQL')

function builtIn(name: string): ConformanceStore {
  const store = SHARED_STORES.find(each => each.name === name)
  if (store === undefined) throw new Error(`There is no store '${name}'`)
  return store
}

type Reached = { readonly address: DatabaseAddress; end(): Promise<unknown> }

/** A store of the conformance suites, reached through a driver. */
function through(name: string, store: ConformanceStore, reach: (url: string) => Reached): ConformanceStore {
  return {
    ...store,
    name,
    async fresh() {
      const database = await store.fresh()
      const { address, end } = reach(database.url)
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
    },
  }
}

const pathOf = (url: string): string => url.slice('sqlite:'.length)

const betterSqlite3Store = through('better-sqlite3', sqlite, url => ({
  address: { driver: betterSqlite3(Database, pathOf(url)) },
  end: async () => {},
}))

const libsqlStore = through('libsql', sqlite, url => ({
  address: { driver: libsql(Libsql, pathOf(url)) },
  end: async () => {},
}))

const pgPoolStore = (max: number): ConformanceStore =>
  through(`a pg pool of ${max}`, server, url => {
    const pool = new pg.Pool({ connectionString: url, max })
    // Dropping the database ends what the pool has not closed yet.
    pool.on('error', () => {})
    return { address: { postgres: pool }, end: () => pool.end() }
  })

const postgresJsStore = through('postgres.js', server, url => {
  const sql = postgres(url, { max: 4, onnotice() {} })
  return { address: { driver: postgresJs(sql) }, end: () => sql.end({ timeout: 1 }) }
})

let shared: PGlite | undefined

/** It takes seconds to start, so its tests share one, and each leaves it empty. */
const pgliteStore: ConformanceStore = {
  ...server,
  name: 'PGlite',
  async fresh(): Promise<ConformanceDatabase> {
    shared ??= new PGlite()
    const db = shared
    const execute = async ({ postgres }: Statement) =>
      ((await db.exec(postgres)).at(-1)?.rows ?? []) as Record<string, unknown>[]
    const hooks = engineHooks(execute)
    const database = testDatabase('postgres://in-process', { ...hooks, remove: () => empty(db) })
    const opened = new Set<Tidemark>()
    return {
      ...database,
      async open(options?: OpenOptions) {
        const tm = await open({ driver: pglite(db) }, { logger: SILENT, autoCreate: true, ...options })
        opened.add(tm)
        return tm
      },
      async [Symbol.asyncDispose]() {
        await Promise.allSettled([...opened].map(tm => tm.close()))
        await database[Symbol.asyncDispose]()
      },
    }
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

import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { temporaryFolder } from '../../../testing/databases.ts'
import type { BenchDatabase, BenchEngine, RawBatch, RawTable } from './engine.ts'
import { forgetFiles } from './forget-files.ts'
import { countSqliteWrites } from './sqlite-writes.ts'

const SCHEME = 'sqlite:'

export function openSqliteEngine(): BenchEngine {
  const folder = temporaryFolder()
  return {
    ...sqliteDatabase(SCHEME + join(folder.path, 'bench.db')),
    version: versionOf(),
    forgetCaches: () => forgetFiles(folder.path),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

export function sqliteDatabase(url: string): BenchDatabase {
  const path = url.slice(SCHEME.length)
  return {
    name: 'sqlite',
    url,
    rawTable: async name => new SqliteRawTable(connect(path), name),
    // Its planner needs none: the queries leave it one way only.
    gatherStatistics: async () => {},
    countWrites: async () => countSqliteWrites(path),
  }
}

/** As Tidemark opens it: WAL, and a commit is on the disk before it returns. */
function connect(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 10_000 })
  db.exec('pragma journal_mode = wal')
  db.exec('pragma synchronous = full')
  return db
}

function versionOf(): string {
  const db = new DatabaseSync(':memory:')
  const row = db.prepare('select sqlite_version() as version').get()
  db.close()
  return String(row?.version)
}

class SqliteRawTable implements RawTable {
  readonly #db: DatabaseSync
  readonly #insert
  readonly #rows
  readonly #payloads

  constructor(db: DatabaseSync, name: string) {
    this.#db = db
    db.exec(`create table raw_${name} (
      id integer primary key, payload text not null, created_at integer, key text, type text, headers text, message_id text)`)
    this.#insert = db.prepare(`insert into raw_${name} (payload) values (?)`)
    const page = `from raw_${name} where id > ? order by id limit ?`
    this.#rows = db.prepare(`select id, payload, created_at, key, type, headers, message_id ${page}`)
    this.#payloads = db.prepare(`select id, payload ${page}`)
  }

  prepareBatch(texts: readonly string[]): RawBatch {
    return { size: texts.length, values: texts }
  }

  async insertBatches(batches: readonly RawBatch[]): Promise<void> {
    for (const { values } of batches) {
      this.#db.exec('begin immediate')
      for (const text of values as readonly string[]) this.#insert.run(text)
      this.#db.exec('commit')
    }
  }

  async insertOne(text: string): Promise<void> {
    this.#insert.run(text)
  }

  async readAll(pageSize: number): Promise<number> {
    return this.#read(this.#rows, pageSize)
  }

  async readPayloads(pageSize: number): Promise<number> {
    return this.#read(this.#payloads, pageSize)
  }

  async readAndParse(pageSize: number): Promise<number> {
    return this.#read(this.#rows, pageSize, payload => JSON.parse(payload as string))
  }

  #read(page: StatementSync, pageSize: number, use?: (payload: unknown) => void): number {
    let count = 0
    for (let last = 0; ; ) {
      const rows = page.all(last, pageSize)
      if (use) for (const { payload } of rows) use(payload)
      count += rows.length
      if (rows.length < pageSize) return count
      last = Number(rows.at(-1)?.id)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#db.close()
  }
}

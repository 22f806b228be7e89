import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { temporaryFolder } from '../../../testing/folders.ts'
import type { IndexEngine, RawTable } from './engine.ts'

const BYTES = "select sum(pgsize) as bytes from dbstat where name = 'environment_tick'"

export function openSqliteEngine(): IndexEngine {
  const folder = temporaryFolder()
  let tables = 0
  return {
    name: 'sqlite',
    version: process.versions.sqlite ?? 'unknown',
    address: `sqlite:${join(folder.path, 'index')}`,
    rawTable: async () => openTable(join(folder.path, `raw-${tables++}.db`)),
    async environmentBytes(runId) {
      using db = new DatabaseSync(join(folder.path, 'index', `run_${runId.replaceAll('-', '_')}.db`))
      return Number(db.prepare(BYTES).get()?.bytes)
    },
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

function openTable(path: string): RawTable {
  const db = new DatabaseSync(path)
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  db.exec('create table raw (tick integer primary key, data blob not null)')
  const insert = db.prepare('insert into raw (tick, data) values (?, ?)')
  return {
    async insert(rows) {
      db.exec('begin immediate')
      for (const { tick, data } of rows) insert.run(tick, data)
      db.exec('commit')
    },
    [Symbol.asyncDispose]: async () => db.close(),
  }
}

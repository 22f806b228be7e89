import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { WriteCounter } from './engine.ts'

const GROUP_TABLES = ['tidemark_lease', 'tidemark_retry', 'tidemark_subscription']
const VERBS = ['insert', 'update', 'delete']

/**
 * Rows are counted by triggers on Tidemark's tables: `total_changes()` knows only its own connection. Bytes are the
 * growth of the WAL file, which a read transaction held open keeps from starting over. The triggers' own writes are in
 * those bytes (the counts lie on one page, which each transaction writes once).
 */
export function countSqliteWrites(path: string): WriteCounter {
  const db = new DatabaseSync(path, { timeout: 10_000 })
  db.exec('create table bench_writes (kind text primary key, rows integer not null)')
  db.exec(`insert into bench_writes values ('group', 0), ('log', 0)`)
  const triggers = tablesOf(db).flatMap(([table, kind]) => VERBS.map(verb => createTrigger(db, table, verb, kind)))
  // Starts the WAL over, so that the reader below stands at its very beginning.
  db.exec('pragma wal_checkpoint(truncate)')
  const reader = new DatabaseSync(path)
  reader.exec('begin')
  reader.prepare('select count(*) from bench_writes').get()
  const before = walBytes(path)
  return {
    read: async () => {
      const rows = new Map(
        db
          .prepare('select kind, rows from bench_writes')
          .all()
          .map(row => [String(row.kind), Number(row.rows)]),
      )
      return { walBytes: walBytes(path) - before, groupRows: rows.get('group') ?? 0, logRows: rows.get('log') ?? 0 }
    },
    [Symbol.asyncDispose]: async () => {
      reader.close()
      for (const trigger of triggers) db.exec(`drop trigger ${trigger}`)
      db.exec('drop table bench_writes')
      db.close()
    },
  }
}

function tablesOf(db: DatabaseSync): [table: string, kind: string][] {
  const logs = db.prepare(`select name from sqlite_schema where type = 'table' and name glob 'tidemark_log_*'`).all()
  return [
    ...GROUP_TABLES.map((table): [string, string] => [table, 'group']),
    ...logs.map((row): [string, string] => [String(row.name), 'log']),
  ]
}

function createTrigger(db: DatabaseSync, table: string, verb: string, kind: string): string {
  const name = `bench_${verb}_${table}`
  db.exec(`create trigger ${name} after ${verb} on ${table} begin
    update bench_writes set rows = rows + 1 where kind = '${kind}';
  end`)
  return name
}

function walBytes(path: string): number {
  return existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0
}

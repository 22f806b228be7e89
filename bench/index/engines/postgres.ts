import type pg from 'pg'
import { openPostgresEngine as openServer } from '../../topics/engines/postgres.ts'
import { connect } from '../../topics/engines/postgres-client.ts'
import type { IndexEngine, RawRow, RawTable } from './engine.ts'

const ROWS_PER_STATEMENT = 100

/** A server of its own with fsync on. */
export async function openPostgresEngine(): Promise<IndexEngine> {
  const server = await openServer()
  return {
    name: 'postgres',
    version: server.version,
    address: server.url,
    rawTable: async () => await openTable(await connect(server.url)),
    async environmentBytes(runId) {
      const client = await connect(server.url)
      const table = `run_${runId.replaceAll('-', '_')}.environment_tick`
      const { rows } = await client.query<{ bytes: string }>('select pg_total_relation_size($1) as bytes', [table])
      await client.end()
      return Number(rows[0]?.bytes)
    },
    [Symbol.asyncDispose]: async () => await server[Symbol.asyncDispose](),
  }
}

async function openTable(client: pg.Client): Promise<RawTable> {
  await client.query('drop table if exists raw')
  await client.query('create table raw (tick bigint primary key, data bytea not null)')
  await client.query('alter table raw alter column data set storage external')
  return {
    async insert(rows) {
      await client.query('begin')
      for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
        await client.query(insertOf(rows.slice(at, at + ROWS_PER_STATEMENT)))
      }
      await client.query('commit')
    },
    [Symbol.asyncDispose]: async () => await client.end(),
  }
}

function insertOf(rows: readonly RawRow[]): pg.QueryConfig {
  const places = rows.map((_, row) => `($${2 * row + 1}, $${2 * row + 2})`)
  return {
    name: `insert ${rows.length}`,
    text: `insert into raw (tick, data) values ${places.join(', ')}`,
    values: rows.flatMap(({ tick, data }) => [tick, data]),
  }
}

import type { IndexProbe, IndexSettings } from '../index-database.ts'
import { indexName, runOfIndex } from '../index-name.ts'
import { PostgresConnection } from './connection.ts'
import { quoteIdentifier } from './schema-name.ts'

export const LISTING: IndexSettings = {
  create: false,
  readOnly: true,
  busyTimeoutMs: 30_000,
  durability: 'full',
  poolSize: 1,
}

const LIST = `
  select n.nspname as name
  from pg_namespace as n
  join pg_class as c on c.relnamespace = n.oid and c.relname = 'index_migration'
  where n.nspname like 'run\\_%'
  order by n.nspname`

export async function listRuns(address: string): Promise<string[]> {
  const connection = new PostgresConnection(address, 'public', LISTING)
  try {
    const rows = await connection.read<{ name: string }>(LIST)
    return rows.map(({ name }) => runOfIndex(name)).filter(run => run !== undefined)
  } finally {
    await connection.close()
  }
}

/** One connection, kept open. */
export function probeServer(address: string): IndexProbe {
  const connection = new PostgresConnection(address, 'public', LISTING)
  return {
    metrics: () => connection.meter.snapshot(),
    async look() {
      await connection.read('select 1')
    },
    close: () => connection.close(),
  }
}

export async function dropRun(address: string, runId: string, settings: IndexSettings): Promise<boolean> {
  const connection = new PostgresConnection(address, indexName(runId), settings)
  try {
    return await connection.transaction(async tx => {
      const there = await tx.rows('select from pg_namespace where nspname = $1', connection.schema)
      if (there.length > 0) await tx.run(`drop schema if exists ${quoteIdentifier(connection.schema)} cascade`)
      return there.length > 0
    })
  } finally {
    await connection.close()
  }
}

import type { MeasuredIndexes } from '../index-database.ts'
import { Connection } from './connection.ts'
import { LISTING } from './runs.ts'

/** The schemas of runs: tables with their indexes and large values. The server looks at the sizes of files alone. */
const SIZE = `
  select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes
  from pg_class as c
  join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname like 'run\\_%' and c.relkind in ('r', 'm')`

/** One connection, kept. */
export function measureServer(address: string): MeasuredIndexes {
  const connection = new Connection(address, 'public', LISTING)
  return {
    async size() {
      const [row] = await connection.read<{ bytes: number }>(SIZE)
      return { bytes: row?.bytes ?? 0, reusableBytes: 0 }
    },
    close: () => connection.close(),
  }
}

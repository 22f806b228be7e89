import type { MeasuredIndexes } from '../index-database.ts'
import { PostgresConnection } from './connection.ts'
import { LISTING } from './runs.ts'
import { quoteIdentifier } from './schema-name.ts'

/** Schemas of runs: tables with their indexes and large values. The server only looks at file sizes. */
const SIZES = `
  select n.nspname as schema, sum(pg_total_relation_size(c.oid))::bigint as bytes,
    bool_or(c.relname = 'removed_peak') and bool_or(c.relname = 'environment_tick_block') as "isTrimmed"
  from pg_class as c
  join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname like 'run\\_%' and c.relkind in ('r', 'm')
  group by n.nspname`

/**
 * Removed rows leave free space in the files, which do not shrink. The server knows how much only by reading them; the
 * ratio of current to former ticks is a good estimate.
 */
const roomIn = (schema: string): string => `
  select (
    (pg_total_relation_size('${schema}.environment_tick')
      + coalesce(pg_total_relation_size(to_regclass('${schema}.organism_tick')), 0))
    * greatest(0, 1 - held.ticks / greatest(1, peak.ticks))
  )::bigint as bytes
  from (select coalesce(sum(ticks), 0)::float8 as ticks from ${schema}.environment_tick_block) as held,
    (select coalesce(max(ticks), 0)::float8 as ticks from ${schema}.removed_peak) as peak`

type Size = { readonly schema: string; readonly bytes: number; readonly isTrimmed: boolean }

/** One connection, kept open. */
export function measureServer(address: string): MeasuredIndexes {
  const connection = new PostgresConnection(address, 'public', LISTING)
  return {
    async size() {
      const sizes = await connection.read<Size>(SIZES)
      let reusableBytes = 0
      for (const { schema } of sizes.filter(({ isTrimmed }) => isTrimmed)) {
        const [room] = await connection.read<{ bytes: number }>(roomIn(quoteIdentifier(schema)))
        reusableBytes += room?.bytes ?? 0
      }
      return { bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0), reusableBytes }
    },
    close: () => connection.close(),
  }
}

const SIZE = `
  select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes
  from pg_class as c
  join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relkind in ('r', 'm')`

/** One schema. */
export async function sizeOfIndex(connection: PostgresConnection): Promise<number> {
  const [size] = await connection.read<{ bytes: number }>(SIZE, connection.schema)
  return size?.bytes ?? 0
}

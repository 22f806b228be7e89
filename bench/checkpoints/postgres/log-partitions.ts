import type pg from 'pg'

export type LogPartitions = {
  /** Numbers of the attached partitions, lowest first. */
  readonly numbers: readonly number[]
  readonly lastId: number
  /** Messages that fit into the partitions that are there. */
  readonly room: number
}

/** The partitions of the only topic of a run. */
export async function readPartitions(client: pg.Client, partitionRows: number): Promise<LogPartitions> {
  const { rows } = await client.query<{ number: number }>(`
    select substring(c.relname from '_p([0-9]+)$')::int as number
    from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
    where i.inhparent = 'tidemark.log_1'::regclass and not i.inhdetachpending
    order by number`)
  const { rows: ids } = await client.query<{ last: string }>('select last_value as last from tidemark.log_1_id')
  const numbers = rows.map(({ number }) => number)
  const lastId = Number(ids[0]?.last ?? 0)
  return { numbers, lastId, room: ((numbers.at(-1) ?? -1) + 1) * partitionRows - 1 - lastId }
}

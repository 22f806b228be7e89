/** A strategy of a user's own: one row a cell, which SQL can ask about. */
import {
  DEFAULT_LIMITS,
  decodeCells,
  defineEnvironmentStrategy,
  encodeCells,
  type IndexedRun,
} from '@tidemark/pipeline'

type Row = { flat_index: number; molecule_type: number; molecule_value: number; owner_id: number }

export default (options: { readonly table?: string }) => {
  const { table = 'cell' } = options
  const isThere = async ({ database }: IndexedRun): Promise<boolean> => {
    const sql =
      database.engine === 'sqlite'
        ? 'select 1 from sqlite_schema where name = ?1'
        : 'select 1 from pg_tables where tablename = $1'
    return (await database.read(sql, `${table}_tick`)).length > 0
  }
  return defineEnvironmentStrategy({
    name: 'row-per-cell',
    async prepare(run, tx) {
      await tx.run(run.sql(`create table if not exists run.${table}_tick (tick bigint primary key)`))
      await tx.run(
        run.sql(`create table if not exists run.${table} (
          tick bigint, flat_index bigint, molecule_type bigint, molecule_value bigint, owner_id bigint,
          primary key (tick, flat_index))`),
      )
    },
    async write(ticks, tx, run) {
      for (const { tick, cells } of ticks) {
        await tx.run(run.sql(`insert into run.${table}_tick (tick) values (?) on conflict do nothing`), tick)
        await tx.run(run.sql(`delete from run.${table} where tick = ?`), tick)
        const { flatIndex, moleculeType, moleculeValue, ownerId } = decodeCells(cells, DEFAULT_LIMITS)
        for (const [slot, flat] of flatIndex.entries()) {
          const values = [moleculeType[slot] ?? 0, moleculeValue[slot] ?? 0, ownerId[slot] ?? 0]
          await tx.run(run.sql(`insert into run.${table} values (?, ?, ?, ?, ?)`), tick, flat, ...values)
        }
      }
    },
    async read(tick, run) {
      if (!(await isThere(run))) return null
      const found = await run.database.read(run.sql(`select 1 from run.${table}_tick where tick = ?`), tick)
      if (found.length === 0) return null
      const rows = await run.database.read<Row>(
        run.sql(`select * from run.${table} where tick = ? order by flat_index`),
        tick,
      )
      return encodeCells({
        flatIndex: Int32Array.from(rows, row => row.flat_index),
        moleculeType: Int32Array.from(rows, row => row.molecule_type),
        moleculeValue: Int32Array.from(rows, row => row.molecule_value),
        ownerId: Int32Array.from(rows, row => row.owner_id),
      })
    },
    async range(run) {
      if (!(await isThere(run))) return null
      const [row] = await run.database.read<{ first: number | null; last: number; ticks: number }>(
        run.sql(`select min(tick) as first, max(tick) as last, count(*) as ticks from run.${table}_tick`),
      )
      return row?.first == null ? null : { tickStart: row.first, tickEnd: row.last, ticks: row.ticks }
    },
  })
}

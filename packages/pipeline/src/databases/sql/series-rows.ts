import type { Span } from '../contiguous.ts'
import type { IndexConnection } from '../index-connection.ts'
import { type SeriesRow, type SeriesRows, type StoredSeries, seriesOf } from '../series-rows.ts'
import type { SqlValue, Transaction } from '../transaction.ts'
import type { Dialect } from './dialect.ts'
import { insertOf, insertRows } from './insert-rows.ts'

const table = ({ integer, real, withoutRowId }: Dialect): string => `
  create table if not exists run.series (
    level ${integer} not null, -- 0: a tick
    bucket ${integer} not null,
    first_tick ${integer} not null,
    ticks ${integer} not null,
    alive ${integer} not null,
    births ${integer} not null,
    deaths ${integer} not null,
    energy ${real} not null,
    cells text not null, -- JSON: by molecule type
    extremes text, -- JSON: of the ticks of a bucket
    primary key (level, bucket)
  ) ${withoutRowId}`

const insert = insertOf(
  10,
  values => `
    insert into run.series (level, bucket, first_tick, ticks, alive, births, deaths, energy, cells, extremes)
    values ${values}
    on conflict (level, bucket) do update set
      first_tick = excluded.first_tick,
      ticks = excluded.ticks,
      alive = excluded.alive,
      births = excluded.births,
      deaths = excluded.deaths,
      energy = excluded.energy,
      cells = excluded.cells,
      extremes = excluded.extremes`,
)

/** The extremes came later than the table. */
const read = (hasExtremes: boolean): string => `
  select level, bucket, first_tick as "firstTick", ticks, alive, births, deaths, energy, cells,
    ${hasExtremes ? 'extremes' : 'null as extremes'}
  from run.series
  where level = $1 and bucket between $2 and $3
  order by bucket`

const REMOVE = `
  delete from run.series
  where level = $1
    and bucket in (select bucket from run.series where level = $1 and bucket < $2 order by bucket limit $3)`

const SPAN = `
  select
    (select min(bucket) from run.series where level = $1) as first,
    (select max(bucket) from run.series where level = $1) as last`

export class StoredSeriesRows implements SeriesRows {
  readonly #connection: IndexConnection

  constructor(connection: IndexConnection) {
    this.#connection = connection
  }

  async prepare(tx: Transaction): Promise<void> {
    await tx.run(table(this.#connection.dialect))
    // An `alter table` that changes nothing still waits for all readers.
    if (await this.#connection.hasColumn('series', 'extremes', tx)) return
    await tx.run('alter table run.series add column extremes text')
  }

  /** Each statement sees what was committed before it, so the next holder of the lock sees everything this one wrote. */
  async lock(tx: Transaction): Promise<void> {
    await this.#connection.lock('series', tx)
  }

  /** Sorted by level and bucket: two writers of the same rows in different orders would deadlock. */
  async write(rows: readonly SeriesRow[], tx: Transaction): Promise<void> {
    const sorted = rows.toSorted((a, b) => a.level - b.level || a.bucket - b.bucket)
    await insertRows(sorted, valuesOf, { insert, atOnce: this.#connection.dialect.rowsPerInsert.small, tx })
  }

  async removeBelow(level: number, bucket: number, limit: number, tx: Transaction): Promise<number> {
    return await tx.run(REMOVE, level, bucket, limit)
  }

  async readIn(tx: Transaction, level: number, { first, last }: Span): Promise<SeriesRow[]> {
    return (await tx.rows<StoredSeries>(read(true), level, first, last)).map(seriesOf)
  }

  async read(level: number, { first, last }: Span): Promise<SeriesRow[]> {
    const sql = read(await this.#connection.hasColumn('series', 'extremes'))
    return (await this.#read<StoredSeries>(sql, level, first, last)).map(seriesOf)
  }

  async span(level: number): Promise<Span | null> {
    const [row] = await this.#read<Span | { first: null }>(SPAN, level)
    return row === undefined || row.first === null ? null : { ...row }
  }

  async #read<T>(sql: string, ...values: number[]): Promise<T[]> {
    return (await this.#connection.hasTable('series')) ? await this.#connection.read<T>(sql, ...values) : []
  }
}

const valuesOf = (row: SeriesRow): SqlValue[] => [
  row.level,
  row.bucket,
  row.firstTick,
  row.ticks,
  row.alive,
  row.births,
  row.deaths,
  row.energy,
  JSON.stringify(row.cells),
  row.extremes && JSON.stringify(row.extremes),
]

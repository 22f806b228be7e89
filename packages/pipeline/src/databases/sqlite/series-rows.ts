import type { Run } from '../contiguous.ts'
import { type SeriesRow, type SeriesRows, type StoredSeries, seriesOf } from '../series-rows.ts'
import type { Transaction } from '../transaction.ts'
import type { Connection } from './connection.ts'

const TABLE = `
  create table if not exists series (
    level integer not null, -- 0: a tick
    bucket integer not null,
    first_tick integer not null,
    ticks integer not null,
    alive integer not null,
    births integer not null,
    deaths integer not null,
    energy real not null,
    cells text not null, -- JSON: by molecule type
    primary key (level, bucket)
  ) without rowid`

const WRITE = `
  insert into series (level, bucket, first_tick, ticks, alive, births, deaths, energy, cells)
  values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
  on conflict (level, bucket) do update set
    first_tick = excluded.first_tick,
    ticks = excluded.ticks,
    alive = excluded.alive,
    births = excluded.births,
    deaths = excluded.deaths,
    energy = excluded.energy,
    cells = excluded.cells`

const READ = `
  select level, bucket, first_tick as "firstTick", ticks, alive, births, deaths, energy, cells
  from series
  where level = ?1 and bucket between ?2 and ?3
  order by bucket`

const REMOVE = `
  delete from series
  where level = ?1
    and bucket in (select bucket from series where level = ?1 and bucket < ?2 order by bucket limit ?3)`

const SPAN = `
  select
    (select min(bucket) from series where level = ?1) as first,
    (select max(bucket) from series where level = ?1) as last`

export class SqliteSeriesRows implements SeriesRows {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  async prepare(tx: Transaction): Promise<void> {
    await tx.run(TABLE)
  }

  /** A transaction that writes has the file for itself from its start. */
  async lock(): Promise<void> {}

  async write(rows: readonly SeriesRow[], tx: Transaction): Promise<void> {
    for (const { level, bucket, firstTick, ticks, alive, births, deaths, energy, cells } of rows) {
      const counts = [firstTick, ticks, alive, births, deaths, energy]
      await tx.run(WRITE, level, bucket, ...counts, JSON.stringify(cells))
    }
  }

  async removeBelow(level: number, bucket: number, limit: number, tx: Transaction): Promise<number> {
    return await tx.run(REMOVE, level, bucket, limit)
  }

  async readIn(tx: Transaction, level: number, { first, last }: Run): Promise<SeriesRow[]> {
    return (await tx.rows<StoredSeries>(READ, level, first, last)).map(seriesOf)
  }

  async read(level: number, { first, last }: Run): Promise<SeriesRow[]> {
    return (await this.#read<StoredSeries>(READ, level, first, last)).map(seriesOf)
  }

  async span(level: number): Promise<Run | null> {
    const [row] = await this.#read<Run | { first: null }>(SPAN, level)
    return row === undefined || row.first === null ? null : { ...row }
  }

  async #read<T>(sql: string, ...values: number[]): Promise<T[]> {
    return (await this.#connection.hasTable('series')) ? await this.#connection.read<T>(sql, ...values) : []
  }
}

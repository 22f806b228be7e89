import type { Run } from '../contiguous.ts'
import { inDialect, valueRows } from '../dialect.ts'
import { type SeriesRow, type SeriesRows, type StoredSeries, seriesOf } from '../series-rows.ts'
import type { Transaction } from '../transaction.ts'
import type { Connection } from './connection.ts'
import { lockKey } from './schema-name.ts'

const TABLE = `
  create table if not exists run.series (
    level int not null, -- 0: a tick
    bucket bigint not null,
    first_tick bigint not null,
    ticks bigint not null,
    alive bigint not null,
    births bigint not null,
    deaths bigint not null,
    energy double precision not null,
    cells text not null, -- JSON: by molecule type
    primary key (level, bucket)
  )`
const ROWS_PER_STATEMENT = 100

const write = (rows: number): string =>
  inDialect(
    `
  insert into run.series (level, bucket, first_tick, ticks, alive, births, deaths, energy, cells)
  values ${valueRows(rows, 9)}
  on conflict (level, bucket) do update set
    first_tick = excluded.first_tick,
    ticks = excluded.ticks,
    alive = excluded.alive,
    births = excluded.births,
    deaths = excluded.deaths,
    energy = excluded.energy,
    cells = excluded.cells`,
    'postgres',
  )

const READ = `
  select level, bucket, first_tick as "firstTick", ticks, alive, births, deaths, energy, cells
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

export class PostgresSeriesRows implements SeriesRows {
  readonly #connection: Connection
  readonly #lockKey: string

  constructor(connection: Connection) {
    this.#connection = connection
    this.#lockKey = lockKey(`${connection.schema}.series`)
  }

  async prepare(tx: Transaction): Promise<void> {
    await tx.run(TABLE)
  }

  /** Each statement sees what was committed before it, so whoever comes next sees all of this one's. */
  async lock(tx: Transaction): Promise<void> {
    await tx.rows('select pg_advisory_xact_lock($1)', this.#lockKey)
  }

  /** By level and bucket: two that write the same rows in another order would wait for each other. */
  async write(rows: readonly SeriesRow[], tx: Transaction): Promise<void> {
    const sorted = rows.toSorted((a, b) => a.level - b.level || a.bucket - b.bucket)
    for (let at = 0; at < sorted.length; at += ROWS_PER_STATEMENT) {
      const part = sorted.slice(at, at + ROWS_PER_STATEMENT)
      const values = part.flatMap(({ level, bucket, firstTick, ticks, alive, births, deaths, energy, cells }) => {
        const counts = [firstTick, ticks, alive, births, deaths, energy]
        return [level, bucket, ...counts, JSON.stringify(cells)]
      })
      await tx.run(write(part.length), ...values)
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

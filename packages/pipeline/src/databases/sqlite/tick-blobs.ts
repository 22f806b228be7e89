import type { TickRange } from '../ledger-store.ts'
import { countByBlock, type IndexedRange, type TickBlob, type TickBlobs, type TickTable } from '../tick-blobs.ts'
import type { Transaction } from '../transaction.ts'
import type { Connection } from './connection.ts'

/** Names of tables can't be values; these are constants of ours. */
const statements = (table: TickTable) => ({
  tables: [
    `create table if not exists ${table} (
      tick integer primary key,
      data blob not null
    )`,
    `create table if not exists ${table}_block (
      block integer primary key,
      ticks integer not null
    )`,
  ],
  /** One a row: 1000 rows of 10 kB took 68 ms, of which binding many rows at once saved nothing. */
  insert: `
    insert into ${table} (tick, data)
    values (?1, ?2)
    on conflict (tick) do nothing`,
  update: `update ${table} set data = ?2 where tick = ?1`,
  count: `
    insert into ${table}_block as known (block, ticks)
    values (?1, ?2)
    on conflict (block) do update set ticks = known.ticks + excluded.ticks`,
  remove: `
    delete from ${table}
    where tick in (select tick from ${table} where tick between ?1 and ?2 order by tick limit ?3)
    returning tick`,
  uncount: `update ${table}_block set ticks = ticks - ?2 where block = ?1`,
  dropEmpty: `delete from ${table}_block where ticks <= 0 and block = ?1`,
  read: `select data from ${table} where tick = ?1`,
  readMany: `
    select tick, data
    from ${table}
    where tick in (select value from json_each(?1))
    order by tick`,
  following: `
    select distinct (select tick from ${table} where tick >= asked.value order by tick limit 1) as tick
    from json_each(?1) as asked
    order by 1`,
  range: `
    select
      (select min(tick) from ${table}) as "tickStart",
      (select max(tick) from ${table}) as "tickEnd",
      (select coalesce(sum(ticks), 0) from ${table}_block) as ticks`,
})

export class SqliteTickBlobs implements TickBlobs {
  readonly #connection: Connection
  readonly #table: TickTable
  readonly #sql: ReturnType<typeof statements>

  constructor(connection: Connection, table: TickTable) {
    this.#connection = connection
    this.#table = table
    this.#sql = statements(table)
  }

  async prepare(tx: Transaction): Promise<void> {
    for (const table of this.#sql.tables) await tx.run(table)
  }

  async write(blobs: readonly TickBlob[], tx: Transaction): Promise<number[]> {
    const added: number[] = []
    for (const { tick, data } of blobs) {
      if ((await tx.run(this.#sql.insert, tick, data)) === 1) added.push(tick)
      else await tx.run(this.#sql.update, tick, data)
    }
    return added
  }

  async count(newTicks: readonly number[], tx: Transaction): Promise<void> {
    for (const [block, ticks] of countByBlock(newTicks)) await tx.run(this.#sql.count, block, ticks)
  }

  async remove({ tickStart, tickEnd }: TickRange, limit: number, tx: Transaction): Promise<number> {
    const removed = await tx.rows<{ tick: number }>(this.#sql.remove, tickStart, tickEnd, limit)
    for (const [block, ticks] of countByBlock(removed.map(({ tick }) => tick))) {
      await tx.run(this.#sql.uncount, block, ticks)
      await tx.run(this.#sql.dropEmpty, block)
    }
    return removed.length
  }

  async read(tick: number): Promise<Uint8Array | null> {
    const [row] = await this.#read<{ data: Uint8Array }>(this.#sql.read, tick)
    return row?.data ?? null
  }

  async readMany(ticks: readonly number[]): Promise<TickBlob[]> {
    return await this.#read<TickBlob>(this.#sql.readMany, JSON.stringify(ticks))
  }

  async following(ticks: readonly number[]): Promise<number[]> {
    const rows = await this.#read<{ tick: number | null }>(this.#sql.following, JSON.stringify(ticks))
    return rows.map(({ tick }) => tick).filter(tick => tick !== null)
  }

  async range(): Promise<IndexedRange | null> {
    const [row] = await this.#read<IndexedRange | { tickStart: null }>(this.#sql.range)
    return row === undefined || row.tickStart === null ? null : { ...row }
  }

  async #read<T>(sql: string, ...values: (string | number)[]): Promise<T[]> {
    if (!(await this.#connection.hasTable(`${this.#table}_block`))) return []
    return await this.#connection.read<T>(sql, ...values)
  }
}

import type { IndexConnection } from '../index-connection.ts'
import type { TickRange } from '../ledger-store.ts'
import {
  countByBlock,
  type IndexedRange,
  type NearestTicks,
  type TickBlob,
  type TickBlobs,
  type TickBlock,
  type TickTable,
} from '../tick-blobs.ts'
import type { Transaction } from '../transaction.ts'
import type { Dialect } from './dialect.ts'
import { insertOf } from './insert-rows.ts'

/** Names of tables can't be parameters; these are constants. */
const statements = (table: TickTable, { integer, bytes, numbers, storeAsIs }: Dialect) => ({
  tables: [
    `create table if not exists run.${table} (
      tick ${integer} primary key,
      data ${bytes} not null
    )`,
    ...storeAsIs(table),
    `create table if not exists run.${table}_block (
      block ${integer} primary key,
      ticks ${integer} not null
    )`,
  ],
  insertOne: `
    insert into run.${table} (tick, data)
    values ($1, $2)
    on conflict (tick) do nothing`,
  insertMany: insertOf(
    2,
    values => `
      insert into run.${table} (tick, data)
      values ${values}
      on conflict (tick) do nothing
      returning tick`,
  ),
  update: `update run.${table} set data = $2 where tick = $1`,
  count: `
    insert into run.${table}_block as known (block, ticks)
    values ($1, $2)
    on conflict (block) do update set ticks = known.ticks + excluded.ticks`,
  remove: `
    delete from run.${table}
    where tick in (select tick from run.${table} where tick between $1 and $2 order by tick limit $3)
    returning tick`,
  uncount: `update run.${table}_block set ticks = ticks - $2 where block = $1`,
  dropEmpty: `delete from run.${table}_block where ticks <= 0 and block = $1`,
  read: `select data from run.${table} where tick = $1`,
  readMany: `
    select tick, data
    from run.${table}
    where tick in (${numbers})
    order by tick`,
  following: `
    select distinct (select tick from run.${table} where tick >= asked.value order by tick limit 1) as tick
    from (${numbers}) as asked
    order by 1`,
  blocks: `
    select block, ticks
    from run.${table}_block
    where block between $1 and $2
    order by block
    limit $3`,
  ticksIn: `
    select tick
    from run.${table}
    where tick between $1 and $2
    order by tick
    limit $3`,
  nearest: `
    select
      (select max(tick) from run.${table} where tick < $1) as before,
      (select min(tick) from run.${table} where tick > $1) as after`,
  range: `
    select
      (select min(tick) from run.${table}) as "tickStart",
      (select max(tick) from run.${table}) as "tickEnd",
      (select cast(coalesce(sum(ticks), 0) as bigint) from run.${table}_block) as ticks`,
})

export class StoredTickBlobs implements TickBlobs {
  readonly #connection: IndexConnection
  readonly #table: TickTable
  readonly #sql: ReturnType<typeof statements>

  constructor(connection: IndexConnection, table: TickTable) {
    this.#connection = connection
    this.#table = table
    this.#sql = statements(table, connection.dialect)
  }

  async prepare(tx: Transaction): Promise<void> {
    // An `alter table` that changes nothing still waits for all readers.
    if (await this.#connection.hasTable(`${this.#table}_block`, tx)) return
    for (const table of this.#sql.tables) await tx.run(table)
  }

  /** Sorted by tick: two writers of the same ticks in different orders would deadlock. */
  async write(blobs: readonly TickBlob[], tx: Transaction): Promise<number[]> {
    const atOnce = this.#connection.dialect.rowsPerInsert.large
    const sorted = blobs.toSorted((a, b) => a.tick - b.tick)
    if (atOnce === 1) return await this.#writeEach(sorted, tx)
    const added: number[] = []
    for (let at = 0; at < sorted.length; at += atOnce) {
      added.push(...(await this.#writeSome(sorted.slice(at, at + atOnce), tx)))
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

  async blocks(first: number, last: number, limit: number): Promise<TickBlock[]> {
    return await this.#read<TickBlock>(this.#sql.blocks, first, last, limit)
  }

  async ticksIn({ tickStart, tickEnd }: TickRange, limit: number): Promise<number[]> {
    const rows = await this.#read<{ tick: number }>(this.#sql.ticksIn, tickStart, tickEnd, limit)
    return rows.map(({ tick }) => tick)
  }

  async nearest(tick: number): Promise<NearestTicks> {
    const [row] = await this.#read<NearestTicks>(this.#sql.nearest, tick)
    return { before: row?.before ?? null, after: row?.after ?? null }
  }

  async #writeEach(blobs: readonly TickBlob[], tx: Transaction): Promise<number[]> {
    const added: number[] = []
    for (const { tick, data } of blobs) {
      if ((await tx.run(this.#sql.insertOne, tick, data)) === 1) added.push(tick)
      else await tx.run(this.#sql.update, tick, data)
    }
    return added
  }

  async #writeSome(blobs: readonly TickBlob[], tx: Transaction): Promise<number[]> {
    const values = blobs.flatMap(({ tick, data }) => [tick, data])
    const rows = await tx.rows<{ tick: number }>(this.#sql.insertMany(blobs.length), ...values)
    const added = rows.map(({ tick }) => tick)
    if (added.length === blobs.length) return added
    const isAdded = new Set(added)
    for (const { tick, data } of blobs) if (!isAdded.has(tick)) await tx.run(this.#sql.update, tick, data)
    return added
  }

  async #read<T>(sql: string, ...values: (string | number)[]): Promise<T[]> {
    if (!(await this.#connection.hasTable(`${this.#table}_block`))) return []
    return await this.#connection.read<T>(sql, ...values)
  }
}

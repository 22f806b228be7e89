import type { IndexConnection } from '../index-connection.ts'
import type { TickRange } from '../ledger-store.ts'
import type { RemovedTicks } from '../removed-ticks.ts'
import type { Transaction } from '../transaction.ts'
import type { Dialect } from './dialect.ts'

const TABLE = 'removed_tick'
const COUNTED = 'environment_tick_block'

/** For an engine whose files do not shrink and do not report their free space. */
export type RemovedPeak = { readonly table: string; readonly note: string }

const table = ({ integer }: Dialect): string => `
  create table if not exists run.removed_tick (
    tick_start ${integer} primary key,
    tick_end ${integer} not null
  )`

/** Ranges inside the new one. */
const ABSORB = `
  delete from run.removed_tick
  where tick_start >= $1 and tick_end <= $2`

const RECORD = `
  insert into run.removed_tick (tick_start, tick_end)
  values ($1, $2)
  on conflict (tick_start) do nothing`

/**
 * Ranges may overlap if two processes have recorded them, so the last one that begins before the tick is not always the
 * right one.
 */
const FIND = `
  select tick_start as "tickStart", tick_end as "tickEnd"
  from run.removed_tick
  where tick_start <= $1 and tick_end >= $1
  limit 1`

export class StoredRemovedTicks implements RemovedTicks {
  readonly #connection: IndexConnection
  readonly #peak: RemovedPeak | undefined

  constructor(connection: IndexConnection, peak?: RemovedPeak) {
    this.#connection = connection
    this.#peak = peak
  }

  async record({ tickStart, tickEnd }: TickRange, tx: Transaction): Promise<void> {
    const connection = this.#connection
    if (!(await connection.hasTable(TABLE, tx))) await this.#prepare(tx)
    if (this.#peak !== undefined && (await connection.hasTable(COUNTED, tx))) await tx.run(this.#peak.note)
    await tx.run(ABSORB, tickStart, tickEnd)
    await tx.run(RECORD, tickStart, tickEnd)
  }

  async rangeOf(tick: number): Promise<TickRange | null> {
    if (!(await this.#connection.hasTable(TABLE))) return null
    const [row] = await this.#connection.read<TickRange>(FIND, tick)
    return row === undefined ? null : { ...row }
  }

  /** On PostgreSQL, two transactions that create the same table at once fail, even with "if not exists". */
  async #prepare(tx: Transaction): Promise<void> {
    await this.#connection.lock(TABLE, tx)
    await tx.run(table(this.#connection.dialect))
    if (this.#peak !== undefined) await tx.run(this.#peak.table)
  }
}

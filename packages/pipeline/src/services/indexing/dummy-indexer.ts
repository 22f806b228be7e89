import { countCells } from '../../contracts/cell-codec.ts'
import type { RawTick } from '../../contracts/tick-codec.ts'
import type { IndexDatabase } from '../../databases/index-database.ts'
import { valueRows } from '../../databases/sql/dialect.ts'
import type { Transaction } from '../../databases/transaction.ts'
import { defineIndexer, type IndexedRun } from './definition.ts'

const TABLES = [
  `create table if not exists run.dummy_tick (
    tick bigint primary key,
    cells bigint not null,
    organisms bigint not null
  )`,
  `create table if not exists run.dummy_batch (
    tick_start bigint not null,
    tick_end bigint not null,
    primary key (tick_start, tick_end)
  )`,
]
const ROWS_PER_STATEMENT = 100
const ROWS_REMOVED = 1_000
const REMOVE_TICKS = `
  delete from run.dummy_tick
  where tick in (select tick from run.dummy_tick where tick between ? and ? order by tick limit ?)`
const REMOVE_BATCHES = 'delete from run.dummy_batch where tick_start >= ? and tick_end <= ?'

/** Totals of the dummy indexer. */
export type DummyTotals = {
  /** Number of batches. */
  readonly batches: number
  /** Number of ticks. */
  readonly ticks: number
  /** Number of cells. */
  readonly cells: number
  /** Number of organisms. */
  readonly organisms: number
}

/**
 * Indexer that only counts. It stores one row per tick and batch instead of a sum, so that redelivered ticks count
 * once.
 *
 * @example
 * const indexer = new BatchIndexer(dummyIndexer, { source: topicSource(tm), storage, index: 'sqlite:./data/index', runId: run })
 */
export const dummyIndexer = defineIndexer({
  name: 'dummy',

  async prepare(run, tx) {
    for (const table of TABLES) await tx.run(run.sql(table))
  },

  async flush(ticks, tx, { run, completedBatches }) {
    for (let at = 0; at < ticks.length; at += ROWS_PER_STATEMENT) {
      await writeTicks(ticks.slice(at, at + ROWS_PER_STATEMENT), tx, run)
    }
    for (const { tickStart, tickEnd } of completedBatches) {
      await tx.run(
        run.sql('insert into run.dummy_batch (tick_start, tick_end) values (?, ?) on conflict do nothing'),
        tickStart,
        tickEnd,
      )
    }
  },

  async remove({ tickStart, tickEnd }, tx, run) {
    const rows = await tx.run(run.sql(REMOVE_TICKS), tickStart, tickEnd, ROWS_REMOVED)
    if (rows === 0) await tx.run(run.sql(REMOVE_BATCHES), tickStart, tickEnd)
    return rows
  },
})

/**
 * Reads the totals of the dummy indexer.
 *
 * @example
 * const { ticks, cells } = await readDummyTotals(database)
 */
export async function readDummyTotals(database: IndexDatabase): Promise<DummyTotals> {
  const [totals] = await database.read<DummyTotals>(
    `select
      (select count(*) from run.dummy_batch) as batches,
      count(*) as ticks,
      cast(coalesce(sum(cells), 0) as bigint) as cells,
      cast(coalesce(sum(organisms), 0) as bigint) as organisms
    from run.dummy_tick`,
  )
  return { batches: 0, ticks: 0, cells: 0, organisms: 0, ...totals }
}

async function writeTicks(ticks: readonly RawTick[], tx: Transaction, run: IndexedRun): Promise<void> {
  await tx.run(
    run.sql(
      `insert into run.dummy_tick (tick, cells, organisms)
      values ${valueRows(ticks.length, 3)}
      on conflict (tick) do update set cells = excluded.cells, organisms = excluded.organisms`,
    ),
    ...ticks.flatMap(({ tick, cells, organismCount }) => [tick, countCells(cells), organismCount]),
  )
}

import type { RemovedTicksStatements } from '../removed-ticks.ts'

/** Two that create the same table at the same time fail, "if not exists" or not. */
const LOCK = 'select pg_advisory_xact_lock(7310579615)'

const PEAK_TABLE = `
  create table if not exists run.removed_peak (
    id int primary key check (id = 1),
    ticks bigint not null
  )`

const PEAK = `
  insert into run.removed_peak as known (id, ticks)
  select 1, coalesce(sum(ticks), 0) from run.environment_tick_block
  on conflict (id) do update set ticks = excluded.ticks
  where excluded.ticks > known.ticks`

const TABLE = `
  create table if not exists run.removed_tick (
    tick_start bigint primary key,
    tick_end bigint not null
  )`

/** Ranges that the new one holds. */
const ABSORB = `
  delete from run.removed_tick
  where tick_start >= $1 and tick_end <= $2`

const RECORD = `
  insert into run.removed_tick (tick_start, tick_end)
  values ($1, $2)
  on conflict (tick_start) do nothing`

/** They may overlap where two processes have recorded them: the last that begins before the tick is not always the one. */
const FIND = `
  select tick_start as "tickStart", tick_end as "tickEnd"
  from run.removed_tick
  where tick_start <= $1 and tick_end >= $1
  limit 1`

export const REMOVED_TICKS: RemovedTicksStatements = {
  tables: [LOCK, TABLE, PEAK_TABLE],
  peak: PEAK,
  absorb: ABSORB,
  record: RECORD,
  find: FIND,
}

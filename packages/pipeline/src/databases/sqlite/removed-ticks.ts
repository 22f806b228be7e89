import type { RemovedTicksStatements } from '../removed-ticks.ts'

const TABLE = `
  create table if not exists removed_tick (
    tick_start integer primary key,
    tick_end integer not null
  )`

/** Ranges that the new one holds. */
const ABSORB = `
  delete from removed_tick
  where tick_start >= ?1 and tick_end <= ?2`

const RECORD = `
  insert into removed_tick (tick_start, tick_end)
  values (?1, ?2)
  on conflict (tick_start) do nothing`

/** They may overlap where two processes have recorded them: the last that begins before the tick is not always the one. */
const FIND = `
  select tick_start as "tickStart", tick_end as "tickEnd"
  from removed_tick
  where tick_start <= ?1 and tick_end >= ?1
  limit 1`

export const REMOVED_TICKS: RemovedTicksStatements = { tables: [TABLE], absorb: ABSORB, record: RECORD, find: FIND }

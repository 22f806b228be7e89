import type { WrittenAsStatements } from '../written-as.ts'

const TABLE = `
  create table if not exists environment_written (
    strategy text not null,
    settings text not null,
    tick_start integer not null,
    tick_end integer not null,
    primary key (strategy, settings)
  ) without rowid`

const RECORD = `
  insert into environment_written as known (strategy, settings, tick_start, tick_end)
  values (?1, ?2, ?3, ?4)
  on conflict (strategy, settings) do update
  set tick_start = min(known.tick_start, excluded.tick_start), tick_end = max(known.tick_end, excluded.tick_end)
  where excluded.tick_start < known.tick_start or excluded.tick_end > known.tick_end`

const LIST = `
  select strategy, settings, tick_start as "tickStart", tick_end as "tickEnd"
  from environment_written
  order by strategy, settings`

export const WRITTEN_AS: WrittenAsStatements = { table: TABLE, record: RECORD, list: LIST }

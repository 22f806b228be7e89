import type { RemovedPeak } from '../sql/removed-ticks.ts'

/** Highest number of ticks before any were removed. `size.ts` estimates the free space in the table files from it. */
export const REMOVED_PEAK: RemovedPeak = {
  table: `
    create table if not exists run.removed_peak (
      id int primary key check (id = 1),
      ticks bigint not null
    )`,
  note: `
    insert into run.removed_peak as known (id, ticks)
    select 1, coalesce(sum(ticks), 0) from run.environment_tick_block
    on conflict (id) do update set ticks = excluded.ticks
    where excluded.ticks > known.ticks`,
}

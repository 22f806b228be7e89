/**
 * Statements that may take minutes: their limit says nothing about a connection that fell silent. Meanwhile the server is
 * asked, over another connection, whether it still works for this one.
 */
import type { Statement } from './connections.ts'
import { isFromServer, NotConnectedError } from './database-errors.ts'
import type { Row } from './row.ts'

/** The server's process behind a connection; behind a pooler's for the length of a transaction. */
export const BACKEND = `
  select a.pid::text as pid, extract(epoch from a.backend_start)::text as since
  from pg_catalog.pg_stat_activity as a
  where a.pid = pg_catalog.pg_backend_pid()`

/** The answer of a process that became idle just now may be on its way. */
const IS_AT_WORK = `
  select exists (
    select from pg_catalog.pg_stat_activity as a
    where a.pid = $1::int and extract(epoch from a.backend_start)::text = $2
      and (coalesce(a.state, '') not like 'idle%'
        or a.state_change > pg_catalog.clock_timestamp() - $3::float8 * interval '1 millisecond')
  ) as is_at_work`

/** Begins to watch one statement, and calls `giveUp` if its answer will not come. Returns how to end the watch. */
export type SilenceWatch = (giveUp: () => void) => () => void

/** `ask` runs a statement on another connection. */
export function watchFor(
  { pid, since }: Row,
  everyMs: number,
  ask: (statement: Statement) => Promise<Row[]>,
): SilenceWatch {
  const isAtWork = async (): Promise<boolean> => {
    try {
      const [row] = await ask({ text: IS_AT_WORK, values: [pid, since, everyMs] })
      return row?.is_at_work === 't'
    } catch (error) {
      // No connection was free, or the server refuses one: the next look tells. Otherwise this one is silent too.
      return error instanceof NotConnectedError || isFromServer(error)
    }
  }
  return giveUp => {
    let timer: NodeJS.Timeout | undefined
    const look = async (): Promise<void> => {
      const goesOn = await isAtWork()
      if (timer === undefined) return
      if (goesOn) timer = setTimeout(look, everyMs)
      else giveUp()
    }
    timer = setTimeout(look, everyMs)
    return () => {
      clearTimeout(timer)
      timer = undefined
    }
  }
}

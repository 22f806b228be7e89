import type { ClockReading } from '../inspection.ts'
import type { Prepare } from './transaction.ts'
import { BOOT_ID, uptimeMs } from './uptime.ts'

/**
 * SQLite has no clock of its own, and a process's wall clock may be wrong or change. So the file keeps one: a time, and
 * the machine's uptime at that time. All processes of the machine count from there.
 *
 *     anchored ──the machine was restarted──▶ anchored at its wall clock, or where it was if that is behind
 *         └──every wall clock is far off by the same, for CONFIRM_MS──▶ stepped, with all pending times shifted along
 *
 * A process whose wall clock is far off uses the file's time too, and removes nothing.
 */

/** A wall clock that differs from the file's by more than this is off. */
const TOLERANCE_MS = 60_000
/**
 * How long wall clocks must agree that the file's clock is wrong, and how long a new time is on trial after a restart.
 */
const CONFIRM_MS = 600_000
/**
 * If more time than this has passed at a restart, the new time is accepted, but nothing is removed while it is on
 * trial.
 */
const LONG_OFF_MS = 3_600_000
/** Maximum age of the stored time while somebody writes, and so the most that the clock can go back after a restart. */
export const TOUCH_MS = 10_000

type Row = {
  wall: number
  uptime: number
  boot: string
  agreed_uptime: number
  trial_until: number
  off_since: number | null
  off_ms: number
}

const READ = 'select wall, uptime, boot, agreed_uptime, trial_until, off_since, off_ms from tidemark_clock where id = 1'
const ANCHOR = 'select wall, uptime from tidemark_clock where id = 1'

/** The same as `nowBy` inside a statement, whose parameter here is `uptimeNow()`. */
export const NOW = '(select cast(wall + max(0, ? - uptime) as integer) from tidemark_clock where id = 1)'
export const uptimeNow = uptimeMs

/** The file's time, in milliseconds. */
export function nowBy(prepare: Prepare): number {
  return Math.floor(timeOf(prepare(ANCHOR).get() as Pick<Row, 'wall' | 'uptime'>))
}

/** Never earlier than the stored time. */
const timeOf = ({ wall, uptime }: Pick<Row, 'wall' | 'uptime'>): number => wall + Math.max(0, uptimeMs() - uptime)

/**
 * The time before which a stored time is more than `ms` ago. Stepping the file's clock makes nothing older: messages
 * published by a clock that was a month behind are not a month old once it is corrected.
 */
export function agoBy(prepare: Prepare, ms: number): number {
  let at = nowBy(prepare) - ms
  for (const step of stepsOf(prepare).reverse()) {
    if (at >= step.at + step.ms) break
    at -= step.ms
  }
  return at
}

/** A stored time converted to the current clock, so that a waiting time is the time really waited. */
export function asOfNow(prepare: Prepare, stored: number): number {
  return stepsOf(prepare).reduce((at, step) => (at < step.at + step.ms ? at + step.ms : at), stored)
}

type Step = { readonly at: number; readonly ms: number }

const stepsOf = (prepare: Prepare): Step[] =>
  prepare('select at, ms from tidemark_clock_step order by at').all() as Step[]

/** Creates the clock of a new file, or continues it after the machine was restarted. Call it in a write transaction. */
export function startClock(prepare: Prepare): void {
  const row = prepare(READ).get() as Row | undefined
  const uptime = uptimeMs()
  if (row === undefined) {
    prepare(`
      insert into tidemark_clock (id, wall, uptime, boot, agreed_uptime, trial_until, off_ms)
      values (1, ?1, ?2, ?3, ?2, 0, 0)`).run(exactWall(), uptimeMs(), BOOT_ID)
    return
  }
  // Without a boot id, a restart shows in an uptime that went back.
  if (row.boot === BOOT_ID && uptime >= row.uptime - TOLERANCE_MS) return
  const wall = exactWall()
  prepare(`
    update tidemark_clock
    set wall = ?1, uptime = ?2, boot = ?3, agreed_uptime = ?2, trial_until = ?4, off_since = null, off_ms = 0`).run(
    Math.max(wall, row.wall),
    uptimeMs(),
    BOOT_ID,
    wall - row.wall > LONG_OFF_MS ? uptime + CONFIRM_MS : 0,
  )
}

/**
 * Stores the current time, and that somebody's wall clock agrees with it. Called now and then, in a write transaction.
 */
export function touchClock(prepare: Prepare): void {
  const row = prepare(READ).get() as Row
  const uptime = uptimeMs()
  if (uptime - row.uptime < TOUCH_MS) return
  const time = timeOf(row)
  if (isOff(Date.now() - time)) prepare('update tidemark_clock set wall = ?, uptime = ?').run(time, uptime)
  else
    prepare('update tidemark_clock set wall = ?1, uptime = ?2, agreed_uptime = ?2, off_since = null').run(time, uptime)
}

export function readClock(prepare: Prepare): ClockReading {
  const row = prepare(READ).get() as Row
  const time = timeOf(row)
  // Avoids -0, which would puzzle people.
  const offsetMs = Math.round(Date.now() - time) + 0
  const trialMs = Math.max(0, row.trial_until - uptimeMs())
  return { now: Math.floor(time), offsetMs, isOff: isOff(offsetMs), trialMs }
}

const isOff = (offsetMs: number): boolean => Math.abs(offsetMs) > TOLERANCE_MS

/** Whether `judgeClock` has something to record or decide. */
export function needsJudgement(prepare: Prepare): boolean {
  const { isOff, offsetMs } = readClock(prepare)
  const row = prepare(READ).get() as Row
  return isOff && (!isSameClaim(row, offsetMs) || isConfirmed(row))
}

/**
 * Records since when this process's wall clock has been off, or steps the file's clock to it. Call it in a write
 * transaction.
 */
export function judgeClock(prepare: Prepare): void {
  const row = prepare(READ).get() as Row
  const { isOff, offsetMs } = readClock(prepare)
  if (!isOff) return
  if (!isSameClaim(row, offsetMs)) {
    prepare('update tidemark_clock set off_since = ?, off_ms = ?').run(uptimeMs(), offsetMs)
  } else if (isConfirmed(row)) {
    step(prepare, timeOf(row), offsetMs)
  }
}

const isSameClaim = ({ off_since, off_ms }: Row, offsetMs: number): boolean =>
  off_since !== null && Math.abs(off_ms - offsetMs) <= TOLERANCE_MS

const isConfirmed = ({ off_since, agreed_uptime }: Row): boolean =>
  off_since !== null && uptimeMs() - Math.max(off_since, agreed_uptime) >= CONFIRM_MS

const SHIFTED: readonly [table: string, ...columns: string[]][] = [
  ['tidemark_lease', 'deadline', 'claimed_at', 'done_at', 'expired_at'],
  ['tidemark_retry', 'due_at'],
  ['tidemark_subscription', 'status_at', 'moved_at', 'last_heartbeat_at', 'missed_at'],
  ['tidemark_backfill', 'lease_until'],
  ['tidemark_job', 'locked_until', 'started_at', 'finished_at', 'succeeded_at'],
  ['tidemark_consumer', 'started_at', 'reported_at', 'active_at'],
]

/**
 * Shifts everything that waits for a time or is counted from one, so that it waits as long as before. Messages keep
 * their times: see `agoBy`.
 */
function step(prepare: Prepare, time: number, ms: number): void {
  for (const [table, ...columns] of SHIFTED) {
    prepare(`update ${table} set ${columns.map(column => `${column} = ${column} + ?1`).join(', ')}`).run(ms)
  }
  if (ms > 0)
    prepare('insert or replace into tidemark_clock_step (at, ms) values (?, ?)').run(Math.floor(time), Math.floor(ms))
  else undoSteps(prepare, -ms)
  prepare(`
    update tidemark_clock set wall = ?1, uptime = ?2, agreed_uptime = ?2, trial_until = 0, off_since = null`).run(
    time + ms,
    uptimeMs(),
  )
}

/**
 * Stepping back undoes earlier steps, so messages from before them regain their true age. Messages published in between
 * lie in the future: they are kept longer, never shorter.
 */
function undoSteps(prepare: Prepare, ms: number): void {
  let left = Math.floor(ms)
  for (const step of stepsOf(prepare).reverse()) {
    if (left < step.ms) {
      prepare('update tidemark_clock_step set ms = ms - ? where at = ?').run(left, step.at)
      return
    }
    prepare('delete from tidemark_clock_step where at = ?').run(step.at)
    left -= step.ms
  }
}

/** The wall clock counts whole milliseconds, so it is exact only at the moment it changes. */
function exactWall(): number {
  const started = performance.now()
  const first = Date.now()
  while (Date.now() === first && performance.now() - started < 2);
  return Date.now()
}

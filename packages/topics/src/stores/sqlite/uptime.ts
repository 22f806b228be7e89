import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

/** How often the fast clock is compared with the system's uptime. */
const COMPARE_MS = 1_000
/**
 * The system reports its uptime in hundredths of a second; a larger difference means that the machine slept or the
 * clock is wrong.
 */
const SLACK_MS = 20
const APART_MS = 100

let comparedAt = Number.NEGATIVE_INFINITY
let shift = 0

/**
 * Milliseconds since the machine was started, the same for all its processes. Setting the wall clock does not change
 * it, and it continues while the machine sleeps.
 */
export function uptimeMs(): number {
  const now = performance.now()
  if (Math.abs(now - comparedAt) > COMPARE_MS) compare(now)
  return now + shift
}

function compare(now: number): void {
  const [seconds, nanoseconds] = process.hrtime()
  const monotonic = seconds * 1_000 + nanoseconds / 1e6
  // The monotonic clock stops while the machine sleeps. If it never slept, the monotonic clock equals the uptime, with
  // finer resolution.
  const slept = uptime() * 1_000 - monotonic
  const found = monotonic - now + (Math.abs(slept) < SLACK_MS ? 0 : slept)
  if (comparedAt === Number.NEGATIVE_INFINITY || Math.abs(found - shift) > APART_MS) shift = found
  comparedAt = now
}

/** Identifies one run of the machine; '' if the system has no boot id. */
export const BOOT_ID = readBootId()

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

import { randomUUID } from 'node:crypto'
import { InvalidRunIdError } from './errors.ts'

/** yyyyMMdd-HHmmssSS-<uuid>: in UTC, SS hundredths of a second, so that ids sort by the runs' start. */
const PATTERN =
  /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)(\d\d)-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/

/** Parts of a run id. */
export type RunIdParts = {
  /** Start of the run in milliseconds since 1970, exact to a hundredth of a second. */
  readonly startedAt: number
  /** UUID of the run. */
  readonly uuid: string
}

/**
 * Creates a run id.
 *
 * @example
 * const runId = makeRunId() // '20260401-12000000-5f0c…'
 */
export function makeRunId(startedAt: number = Date.now(), uuid: string = randomUUID()): string {
  const id = `${timestampOf(startedAt)}-${uuid}`
  parseRunId(id)
  return id
}

/**
 * Splits a run id. Throws an `InvalidRunIdError` if it is invalid.
 *
 * @example
 * const { startedAt, uuid } = parseRunId(makeRunId())
 */
export function parseRunId(id: unknown): RunIdParts {
  const match = typeof id === 'string' ? PATTERN.exec(id) : null
  if (match === null) throw new InvalidRunIdError(id)
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, hundredth = 0] = match.slice(1, 8).map(Number)
  const startedAt = Date.UTC(year, month - 1, day, hour, minute, second, hundredth * 10)
  // Date.UTC turns April 31 into May 1.
  if (timestampOf(startedAt) !== match[0].slice(0, 17)) throw new InvalidRunIdError(id)
  return { startedAt, uuid: match[8] ?? '' }
}

/**
 * Every tick names its run, nearly always the same as the previous tick, and parsing takes 2 µs; initially any valid
 * id.
 */
let lastValid = '19700101-00000000-00000000-0000-0000-0000-000000000000'

/**
 * Returns the run id, or throws an `InvalidRunIdError` if it is invalid.
 *
 * @example
 * const checked = requireRunId(process.argv[2])
 */
export function requireRunId(id: unknown): string {
  if (id === lastValid) return lastValid
  parseRunId(id)
  lastValid = id as string
  return lastValid
}

/**
 * Whether a value is a valid run id.
 *
 * @example
 * if (!isRunId(process.argv[2])) process.exit(2)
 */
export function isRunId(id: unknown): id is string {
  try {
    parseRunId(id)
    return true
  } catch {
    return false
  }
}

function timestampOf(time: number): string {
  if (!Number.isFinite(time) || Math.abs(time) > 8.64e15) return 'no time'
  const digits = new Date(time).toISOString().replace(/\D/g, '')
  return `${digits.slice(0, 8)}-${digits.slice(8, 16)}`
}

/** Numbers and times as the page shows them. The full value belongs in the title of the element. */

const groups = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const THIN = '\u202f'

/** 1 203, 48.2 k, 1.2 M: five characters at most from 10 000 on, so that columns keep their width. */
export function count(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (Math.abs(value) < 10_000) return whole(value)
  // A value that would be rounded to 1000 of a unit is shown in the next unit.
  for (const [unit, size] of UNITS)
    if (Math.abs(value) >= size * 0.9995) return `${threeDigits(value / size)}${THIN}${unit}`
  return whole(value)
}

const UNITS = [
  ['G', 1e9],
  ['M', 1e6],
  ['k', 1e3],
] as const

const threeDigits = (value: number): string => value.toFixed(Math.abs(value) < 99.95 ? 1 : 0)

/** All digits, in groups of three. */
export const whole = (value: number): string => groups.format(value).replaceAll(',', THIN)

/** 310, 4.2, 0.3: messages per second. */
export function rate(value: number): string {
  if (!Number.isFinite(value)) return '–'
  return Math.abs(value) < 9.95 && value !== 0 ? value.toFixed(1) : count(Math.round(value))
}

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (value < 1000) return `${Math.round(value)}${THIN}B`
  const [unit, size] = BYTE_UNITS.find(([, each]) => value >= each) ?? (['kB', 1e3] as const)
  return `${threeDigits(value / size)}${THIN}${unit}`
}

const BYTE_UNITS = [
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
] as const

/** 240 ms, 4 s, 12 min, 3 h, 2 d. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  if (ms < 1000) return `${Math.round(ms)}${THIN}ms`
  const [unit, size] = TIME_UNITS.find(([, each]) => ms >= each) ?? (['s', 1000] as const)
  return `${Math.floor(ms / size)}${THIN}${unit}`
}

const TIME_UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** "1 message", "3 messages". */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`

/** 14:02:11, in the chosen time zone. */
export const clock = (time: Date, zone: 'local' | 'utc'): string =>
  time.toLocaleTimeString('en-GB', { hour12: false, ...(zone === 'utc' && { timeZone: 'UTC' }) })

/** 2026-11-18 14:02:11, for titles. */
export function moment(time: Date, zone: 'local' | 'utc'): string {
  const day = time.toLocaleDateString('sv-SE', zone === 'utc' ? { timeZone: 'UTC' } : {})
  return `${day} ${clock(time, zone)}${zone === 'utc' ? ' UTC' : ''}`
}

/** The allowed values of each option: the single source of checking, types and the reference page. */
import { ConfigError, type Duration } from 'tidemark'
import { type Bytes, parseBytes } from '../disk/bytes.ts'
import { parseDuration } from '../duration.ts'
import { oneOf, wholeNumber } from '../options.ts'
import { isRunId } from '../run-id.ts'

/** One option of a service or resource. */
export type OptionRule<T = unknown> = {
  /** Description, a noun phrase. */
  readonly says: string
  /** Allowed values, for people. */
  readonly allowed: string
  /** Default value. */
  readonly default?: T
  /** What happens without a value, if there is no default. */
  readonly otherwise?: string
  /** Whether the option is required. */
  readonly required?: boolean
  /** Whether the value may contain a password and is never shown. */
  readonly secret?: boolean
  /** Whether the value is text even if it looks like a number. Values from the environment are then taken as they are. */
  readonly isText?: boolean
  /**
   * Whether the value is a path, or an address with a path such as `sqlite:<file>`, relative to the configuration
   * file.
   */
  readonly path?: 'file' | 'address'
  /** Returns the checked value, or throws a `ConfigError` that names the path. */
  check(path: string, value: unknown): T
}

/** Options by name. */
export type OptionTable = { readonly [name: string]: OptionRule }

/** Options as a user may write them. */
export type GivenOptions<Table extends OptionTable> = {
  readonly [Name in keyof Table as Table[Name] extends { required: true } ? Name : never]: ValueOf<Table[Name]>
} & {
  readonly [Name in keyof Table as Table[Name] extends { required: true } ? never : Name]?: ValueOf<Table[Name]>
}

/** Options after the check. Those with a default are always present. */
export type CheckedOptions<Table extends OptionTable> = {
  readonly [Name in keyof Table as Table[Name] extends Present ? Name : never]: ValueOf<Table[Name]>
} & {
  readonly [Name in keyof Table as Table[Name] extends Present ? never : Name]?: ValueOf<Table[Name]>
}

type Present = { required: true } | { default: unknown }
type ValueOf<Rule> = Rule extends OptionRule<infer T> ? T : never

/**
 * Checks options: refuses unknown names and invalid values, and fills in defaults.
 *
 * @example
 * const table = { level: whole({ says: 'Compression level.', min: 1, max: 19, default: 3 }) }
 * const { level } = checkOptions('archive', { level: 9 }, table)
 */
export function checkOptions<Table extends OptionTable>(
  path: string,
  given: unknown,
  table: Table,
): CheckedOptions<Table> {
  const options = requireObject(path, given)
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(table, name)) continue
    // Beside an address, a misspelt option may well be a password.
    const shown = Object.values(table).some(({ secret }) => secret) ? '(hidden)' : options[name]
    throw unknownOption(`${path}.${name}`, shown, Object.keys(table))
  }
  const checked: Record<string, unknown> = {}
  for (const [name, rule] of Object.entries(table)) {
    const value = options[name] ?? rule.default
    if (value !== undefined) checked[name] = rule.check(`${path}.${name}`, value)
    else if (rule.required) throw new ConfigError(`${path}.${name}`, undefined, rule.allowed)
  }
  return checked as CheckedOptions<Table>
}

export function requireObject(path: string, value: unknown): { readonly [name: string]: unknown } {
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isPlain) throw new ConfigError(path, value, 'an object')
  return value as { readonly [name: string]: unknown }
}

export function unknownOption(path: string, value: unknown, known: readonly string[]): ConfigError {
  return new ConfigError(path, value, known.length === 0 ? 'no options' : `one of ${known.join(', ')}`)
}

type About = { readonly says: string; readonly otherwise?: string }
type Range = About & { readonly min: number; readonly max?: number }

/**
 * Option whose value is a whole number.
 *
 * @example
 * const maxItems = whole({ says: 'Maximum number of items.', min: 1, default: 100 })
 */
export const whole = <const More extends object>(about: Range & More) => {
  const { min, max = Number.MAX_SAFE_INTEGER } = about
  const upTo = max === Number.MAX_SAFE_INTEGER ? 'on' : `to ${max}`
  return rule<number, More>(about, `a whole number from ${min} ${upTo}`, (path, value) =>
    wholeNumber(path, value, { min, max }),
  )
}

/**
 * Option whose value is a number.
 *
 * @example
 * const factor = number({ says: 'Factor of the backoff.', min: 1, default: 2 })
 */
export const number = <const More extends object>(about: Range & More) => {
  const { min, max = Number.POSITIVE_INFINITY } = about
  const allowed = max === Number.POSITIVE_INFINITY ? `a number above ${min}` : `a number from ${min} to ${max}`
  return rule<number, More>(about, allowed, (path, value) => {
    const isIn =
      typeof value === 'number' && value <= max && (max === Number.POSITIVE_INFINITY ? value > min : value >= min)
    if (!isIn) throw new ConfigError(path, value, allowed)
    return value
  })
}

/**
 * Option whose value is text.
 *
 * @example
 * const table = text({ says: 'Name of the table.', default: 'population' })
 */
export const text = <const More extends object>(about: About & { allowed?: string } & More) => {
  const { allowed = 'a text', secret = false } = about as { allowed?: string; secret?: boolean }
  return textRule<string, More>(about, allowed, (path, value) => {
    if (typeof value === 'string' && value !== '') return value
    throw new ConfigError(path, secret ? '(hidden)' : value, allowed)
  })
}

/**
 * Option whose value is true or false.
 *
 * @example
 * const enabled = flag({ says: 'Whether the service runs.', default: true })
 */
export const flag = <const More extends object>(about: About & More) =>
  rule<boolean, More>(about, '`true` or `false`', (path, value) => {
    if (typeof value !== 'boolean') throw new ConfigError(path, value, 'true or false')
    return value
  })

/**
 * Option whose value is a duration.
 *
 * @example
 * const interval = duration({ says: 'Time between two scans.', default: '1s' })
 */
export const duration = <const More extends object>(about: About & { min?: number } & More) =>
  rule<Duration, More>(about, "a duration such as `'500ms'`, `'30s'`, `'5m'`", (path, value) => {
    parseDuration(path, value as Duration, about.min === undefined ? {} : { min: about.min })
    return value as Duration
  })

/** Option whose value is a size on disk or in memory. `none`: no limit. */
export const size = <const More extends object>(about: About & { min: number; none?: boolean } & More) => {
  const allowed = `a size such as \`'500MB'\` or \`'2GB'\`${about.none ? ", or `'none'`" : ''}`
  return rule<Bytes, More>(about, allowed, (path, value) => {
    if (!(about.none && value === 'none')) parseBytes(path, value, about)
    return value as Bytes
  })
}

/**
 * Option whose value is one of several strings.
 *
 * @example
 * const compression = choice(['none', 'zstd'], { says: 'Compression of new files.', default: 'zstd' })
 */
export const choice = <const T extends string, const More extends object>(values: readonly T[], about: About & More) =>
  textRule<T, More>(about, values.map(value => `\`'${value}'\``).join(' or '), (path, value) =>
    oneOf(path, value, values),
  )

/**
 * Option whose value is a run id.
 *
 * @example
 * const option = runId({ says: 'Run to index.' })
 */
export const runId = <const More extends object>(about: About & More) =>
  textRule<string, More>(about, 'a run id', (path, value) => {
    if (!isRunId(value)) throw new ConfigError(path, value, 'a run id: yyyyMMdd-HHmmssSS-<uuid>')
    return value as string
  })

const textRule: typeof rule = (about, allowed, check) => ({ ...rule(about, allowed, check), isText: true })

/**
 * Option with a check of your own.
 *
 * @example
 * const shards = rule({ says: 'Number of shards.', default: 4 }, 'an even number', (path, value) => {
 *   if (typeof value === 'number' && value % 2 === 0) return value
 *   throw new ConfigError(path, value, 'an even number')
 * })
 */
export function rule<T, More extends object>(
  about: About & More,
  allowed: string,
  check: (path: string, value: unknown) => T,
): OptionRule<T> & Omit<More, 'min' | 'max' | 'none'> {
  return { ...about, allowed, check }
}

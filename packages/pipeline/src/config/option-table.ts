/** What each option may be: the one place that checking, types and the reference page are made from. */
import { ConfigError, type Duration } from 'tidemark'
import { type Bytes, parseBytes } from '../disk/bytes.ts'
import { parseDuration } from '../duration.ts'
import { oneOf, wholeNumber } from '../options.ts'
import { isRunId } from '../run-id.ts'

export type OptionRule<T = unknown> = {
  readonly says: string
  /** For people: what is allowed. */
  readonly allowed: string
  readonly default?: T
  /** Where there is no default: what happens without it, for people. */
  readonly otherwise?: string
  readonly required?: boolean
  /** Its value may hold a password, and is never shown. */
  readonly secret?: boolean
  /** A text even where it looks like a number: from the environment it is taken as it is. */
  readonly isText?: boolean
  /** A path, or an address with a path such as `sqlite:<file>`: relative to the configuration file. */
  readonly path?: 'file' | 'address'
  /** The value itself, or a `ConfigError` that names the path. */
  check(path: string, value: unknown): T
}

export type OptionTable = { readonly [name: string]: OptionRule }

/** What a user may write, by the table. */
export type GivenOptions<Table extends OptionTable> = {
  readonly [Name in keyof Table as Table[Name] extends { required: true } ? Name : never]: ValueOf<Table[Name]>
} & {
  readonly [Name in keyof Table as Table[Name] extends { required: true } ? never : Name]?: ValueOf<Table[Name]>
}

/** What is there after the check: with a default, always. */
export type CheckedOptions<Table extends OptionTable> = {
  readonly [Name in keyof Table as Table[Name] extends Present ? Name : never]: ValueOf<Table[Name]>
} & {
  readonly [Name in keyof Table as Table[Name] extends Present ? never : Name]?: ValueOf<Table[Name]>
}

type Present = { required: true } | { default: unknown }
type ValueOf<Rule> = Rule extends OptionRule<infer T> ? T : never

/** Unknown names are refused, defaults filled in, every value checked. */
export function checkOptions<Table extends OptionTable>(
  path: string,
  given: unknown,
  table: Table,
): CheckedOptions<Table> {
  const options = requireObject(path, given)
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(table, name)) continue
    // Beside an address a misspelt option may well be a password.
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

export const whole = <const More extends object>(about: Range & More) => {
  const { min, max = Number.MAX_SAFE_INTEGER } = about
  const upTo = max === Number.MAX_SAFE_INTEGER ? 'on' : `to ${max}`
  return rule<number, More>(about, `a whole number from ${min} ${upTo}`, (path, value) =>
    wholeNumber(path, value, { min, max }),
  )
}

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

export const text = <const More extends object>(about: About & { allowed?: string } & More) => {
  const { allowed = 'a text', secret = false } = about as { allowed?: string; secret?: boolean }
  return textRule<string, More>(about, allowed, (path, value) => {
    if (typeof value === 'string' && value !== '') return value
    throw new ConfigError(path, secret ? '(hidden)' : value, allowed)
  })
}

export const flag = <const More extends object>(about: About & More) =>
  rule<boolean, More>(about, '`true` or `false`', (path, value) => {
    if (typeof value !== 'boolean') throw new ConfigError(path, value, 'true or false')
    return value
  })

export const duration = <const More extends object>(about: About & { min?: number } & More) =>
  rule<Duration, More>(about, "a duration such as `'500ms'`, `'30s'`, `'5m'`", (path, value) => {
    parseDuration(path, value as Duration, about.min === undefined ? {} : { min: about.min })
    return value as Duration
  })

/** Of something on a disk, or in memory. `none`: without a limit. */
export const size = <const More extends object>(about: About & { min: number; none?: boolean } & More) => {
  const allowed = `a size such as \`'500MB'\` or \`'2GB'\`${about.none ? ", or `'none'`" : ''}`
  return rule<Bytes, More>(about, allowed, (path, value) => {
    if (!(about.none && value === 'none')) parseBytes(path, value, about)
    return value as Bytes
  })
}

export const choice = <const T extends string, const More extends object>(values: readonly T[], about: About & More) =>
  textRule<T, More>(about, values.map(value => `\`'${value}'\``).join(' or '), (path, value) =>
    oneOf(path, value, values),
  )

export const runId = <const More extends object>(about: About & More) =>
  textRule<string, More>(about, 'a run id', (path, value) => {
    if (!isRunId(value)) throw new ConfigError(path, value, 'a run id: yyyyMMdd-HHmmssSS-<uuid>')
    return value as string
  })

const textRule: typeof rule = (about, allowed, check) => ({ ...rule(about, allowed, check), isText: true })

/** For what the builders above don't know. */
export function rule<T, More extends object>(
  about: About & More,
  allowed: string,
  check: (path: string, value: unknown) => T,
): OptionRule<T> & Omit<More, 'min' | 'max' | 'none'> {
  return { ...about, allowed, check }
}

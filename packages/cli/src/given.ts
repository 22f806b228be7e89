import type { Duration, From } from 'tidemark'
import { UsageError } from './errors.ts'

export type Values = { readonly [name: string]: readonly string[] | true | undefined }

/** The arguments and options of one call, read by type. `Name` limits the options that may be read. */
export class Given<Name extends string = string> {
  readonly #arguments: { readonly [name: string]: readonly string[] | undefined }
  readonly #options: Values

  constructor(args: { readonly [name: string]: readonly string[] | undefined }, options: Values) {
    this.#arguments = args
    this.#options = options
  }

  /** '' if an optional one is omitted. */
  argument(name: string): string {
    return this.#arguments[name]?.[0] ?? ''
  }

  list(name: string): readonly string[] {
    return this.#arguments[name] ?? []
  }

  flag(name: Name): boolean {
    return this.#options[name] === true
  }

  text(name: Name): string | undefined {
    return this.texts(name).at(-1)
  }

  texts(name: Name): readonly string[] {
    const value = this.#options[name]
    return value === undefined || value === true ? [] : value
  }

  whole(name: Name, { min = 1, max = Number.MAX_SAFE_INTEGER } = {}): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : wholeOf(`--${name}`, text, { min, max })
  }

  wholeArgument(name: string): number {
    return wholeOf(`<${name}>`, this.argument(name), { min: 0, max: Number.MAX_SAFE_INTEGER })
  }

  oneOf<T extends string>(name: Name, allowed: readonly T[]): T | undefined {
    const text = this.text(name)
    if (text === undefined || allowed.includes(text as T)) return text as T | undefined
    throw new UsageError(`--${name} must be ${allowed.join(' or ')}, not '${text}'`)
  }

  /** Tidemark itself validates durations, and names the option. */
  duration(name: Name): Duration | undefined {
    return this.text(name) as Duration | undefined
  }

  /** Or the word that means "unlimited". */
  durationOr<Word extends string>(name: Name, word: Word): Duration | Word | undefined {
    return this.text(name) === word ? word : this.duration(name)
  }

  /** 'now', 'beginning', a time, or a messageId. */
  position(name: Name): From | undefined {
    const text = this.text(name)
    if (text === undefined || text === 'now' || text === 'beginning') return text
    if (!/^\d{4}-\d{2}-\d{2}(T.*)?$/.test(text)) return { messageId: text }
    const timestamp = new Date(text)
    if (!Number.isNaN(timestamp.getTime())) return { timestamp }
    throw new UsageError(`--${name} must be a time such as 2026-05-01T12:00:00Z, not '${text}'`)
  }
}

function wholeOf(what: string, text: string, { min, max }: { min: number; max: number }): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  throw new UsageError(`${what} must be a whole number ${range}, not '${text}'`)
}

/** The entries of an object that have a value. */
export function present<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

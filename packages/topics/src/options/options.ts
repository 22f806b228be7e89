import { ConfigError } from '../errors.ts'
import { type Duration, parseDuration } from './duration.ts'
import { checkName } from './names.ts'
import { isStorable, STORABLE_TEXT } from './storable.ts'

/**
 * Reads the options of one public call. Each getter checks one option; `done()` refuses options that no getter has
 * read, so that every accepted option is used.
 */
export class Options {
  readonly #what: string
  readonly #values: Record<string, unknown>
  readonly #known = new Set<string>()

  constructor(what: string, values: unknown) {
    if (values !== undefined && (typeof values !== 'object' || values === null || Array.isArray(values))) {
      throw new ConfigError(what, values, 'an object of options')
    }
    this.#what = what
    this.#values = (values ?? {}) as Record<string, unknown>
  }

  /** Value of an option, unchecked. */
  value(name: string): unknown {
    this.#known.add(name)
    return this.#values[name]
  }

  /** One of several strings. */
  oneOf<T extends string, D extends T | undefined>(name: string, allowed: readonly T[], fallback: D): T | D {
    const value = this.value(name)
    if (value === undefined) return fallback
    if (allowed.includes(value as T)) return value as T
    throw new ConfigError(this.#path(name), value, allowed.map(each => `'${each}'`).join(' or '))
  }

  /** A duration in milliseconds. */
  duration<D extends number | undefined>(name: string, fallback: D, limits?: { min?: number }): number | D {
    const value = this.value(name)
    return value === undefined ? fallback : parseDuration(this.#path(name), value as Duration, limits)
  }

  /** A whole number. */
  integer<D extends number | undefined>(
    name: string,
    fallback: D,
    { min, max }: { min: number; max: number },
  ): number | D {
    const value = this.value(name)
    if (value === undefined) return fallback
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number
    throw new ConfigError(this.#path(name), value, `a whole number from ${min} to ${max}`)
  }

  /** A number. */
  number<D extends number | undefined>(
    name: string,
    fallback: D,
    { min, max }: { min: number; max: number },
  ): number | D {
    const value = this.value(name)
    if (value === undefined) return fallback
    if (typeof value === 'number' && value >= min && value <= max) return value
    throw new ConfigError(this.#path(name), value, `a number from ${min} to ${max}`)
  }

  /** A boolean. */
  boolean<D extends boolean | undefined>(name: string, fallback: D): boolean | D {
    const value = this.value(name)
    if (value === undefined) return fallback
    if (typeof value === 'boolean') return value
    throw new ConfigError(this.#path(name), value, 'true or false')
  }

  /** A string. */
  string<D extends string | undefined>(name: string, fallback: D): string | D {
    const value = this.value(name)
    if (value === undefined) return fallback
    if (typeof value === 'string' && isStorable(value)) return value
    throw new ConfigError(this.#path(name), value, STORABLE_TEXT)
  }

  /** Name of a group; '' is the group without a name. */
  groupName(name: string): string | undefined {
    const value = this.value(name)
    return value === undefined || value === '' ? value : checkName('group', value)
  }

  /** A function, or an object that `accepts` recognises. */
  object<T>(name: string, accepts: (value: object) => boolean, allowed: string): T | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function'
    if (isObject && accepts(value)) return value as T
    throw new ConfigError(this.#path(name), value, allowed)
  }

  /** A function. */
  function<T>(name: string): T | undefined {
    return this.object<T>(name, value => typeof value === 'function', 'a function')
  }

  /** Options of a nested object, reported with their full path. */
  nested(name: string): Options | undefined {
    const value = this.value(name)
    return value === undefined ? undefined : new Options(this.#path(name), value)
  }

  /** Refuses options that were not read. Call it last. */
  done(): void {
    for (const name of Object.keys(this.#values)) {
      if (this.#known.has(name)) continue
      throw new ConfigError(this.#path(name), this.#values[name], `one of ${[...this.#known].sort().join(', ')}`)
    }
  }

  #path(name: string): string {
    return `${this.#what}.${name}`
  }
}

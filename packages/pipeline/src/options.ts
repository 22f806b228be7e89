import { ConfigError } from 'tidemark'

/** An option that nobody reads is usually misspelt. */
export function refuseUnknown(options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new ConfigError(name, Reflect.get(options, name), `one of ${known.join(', ')}`)
  }
}

export function wholeNumber(option: string, value: unknown, { min, max = Number.MAX_SAFE_INTEGER }: Limits): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value
  const upTo = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  throw new ConfigError(option, value, `a whole number ${upTo}`)
}

export function oneOf<T extends string>(option: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find(each => each === value)
  if (found === undefined) throw new ConfigError(option, value, allowed.map(each => `'${each}'`).join(' or '))
  return found
}

/**
 * A name or a key that is stored. PostgreSQL refuses NUL and replaces half a surrogate pair, so that two different
 * texts could become one there.
 */
export function storableText(option: string, value: unknown, longest: number): string {
  if (typeof value === 'string' && value !== '' && value.length <= longest && isStorable(value)) return value
  throw new ConfigError(option, value, `a text of 1 to ${longest} characters without NUL or broken surrogate pairs`)
}

const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

type Limits = { readonly min: number; readonly max?: number }

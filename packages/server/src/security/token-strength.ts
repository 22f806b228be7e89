import { ConfigError } from 'tidemark'

const SHORTEST = 16
const FEWEST_LETTERS = 6
/** Characters that a header can carry. */
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/
const OBVIOUS =
  /^(password|passwort|secret|token|admin|tidemark|changeme|change-me|letmein|test|example)(?:[-_.]?\1)*[-_.]?\d*$/i

const ALLOWED =
  `at least ${SHORTEST} letters, digits and -._~+/=, ${FEWEST_LETTERS} of them different, and hard to guess. ` +
  "'tidemark token create' makes one"

/** Checks a token chosen by a person. The message never shows it. */
export function checkTokenStrength(path: string, value: unknown): string {
  if (value === '') throw new ConfigError(path, '(empty)', ALLOWED)
  if (typeof value === 'string' && isStrong(value)) return value
  throw new ConfigError(path, '(hidden)', ALLOWED)
}

/**
 * Whether a token is long and varied enough.
 *
 * @example
 * isStrong('secret') // false
 */
export const isStrong = (token: string): boolean =>
  token.length >= SHORTEST &&
  TOKEN.test(token) &&
  new Set(token.toLowerCase()).size >= FEWEST_LETTERS &&
  !OBVIOUS.test(token) &&
  !isRun(token)

/** Sequences such as 0123456789abcdef, or qwertz over and over, are easy to guess. */
function isRun(token: string): boolean {
  const steps = [...token].slice(1).map((letter, index) => letter.charCodeAt(0) - token.charCodeAt(index))
  const isCounting = steps.filter(step => step === 1 || step === -1).length > steps.length * 0.85
  const isRepeated = [1, 2, 3, 4, 5, 6, 7, 8].some(length => token.slice(length) === token.slice(0, -length))
  return isCounting || isRepeated
}

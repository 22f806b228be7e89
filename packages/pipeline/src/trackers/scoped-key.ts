import { storableText } from '../options.ts'

const LONGEST_SCOPE = 200
const LONGEST_KEY = 2_000

/** Checked alike by every tracker, so that what one takes all take. */
export function checkScopedKey(scope: string, key: string): void {
  storableText('scope', scope, LONGEST_SCOPE)
  storableText('key', key, LONGEST_KEY)
}

/** Scope and key as one text; NUL stands in neither. */
export function joinScopedKey(scope: string, key: string): string {
  checkScopedKey(scope, key)
  return `${scope}\0${key}`
}

import { storableText } from '../options.ts'

const LONGEST_SCOPE = 200
const LONGEST_KEY = 2_000

/** The same check for every tracker, so that all accept the same keys. */
export function checkScopedKey(scope: string, key: string): void {
  storableText('scope', scope, LONGEST_SCOPE)
  storableText('key', key, LONGEST_KEY)
}

/** Scope and key as one text; neither contains NUL. */
export function joinScopedKey(scope: string, key: string): string {
  checkScopedKey(scope, key)
  return `${scope}\0${key}`
}

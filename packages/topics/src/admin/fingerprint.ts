import { createHash } from 'node:crypto'
import type { FailureRecord } from '../stores/failure-record.ts'

/** Replaces a part of a message that differs from failure to failure. */
const ANY = '<…>'
/** Characters of a message that are considered. Beyond them, failures hardly ever differ in kind. */
const MOST_CHARACTERS = 1_000

/** An error without what differs from failure to failure. */
export type ErrorKind = {
  /** Identifies the kind of error: 16 hexadecimal digits. */
  readonly fingerprint: string
  /** Name and message of the error, its numbers, ids and quoted texts replaced by `<…>`. */
  readonly error: string
}

/** Name and message of an error, with quoted texts, ids and numbers replaced. */
export function kindOf({ name, message }: FailureRecord): ErrorKind {
  const told = message
    .slice(0, MOST_CHARACTERS)
    .replace(/\s+/g, ' ')
    .trim()
    // An apostrophe inside a word does not begin a quotation.
    .replace(/(^|[^\p{L}\p{N}])(["'`])[^"'`]*\2(?![\p{L}\p{N}])/gu, `$1${ANY}`)
    .replace(/[“„«‘][^”“»’]*[”“»’]/g, ANY)
    .replace(/<[^<>…]*>/g, ANY)
    .replace(/[^\s,;=()[\]{}<>"'`|!?]+/g, withoutNumbers)
    .replace(/<…>(?:[\s,;:./|-]*<…>)+/g, ANY)
  const error = told === '' ? name : `${name}: ${told}`
  return { fingerprint: createHash('sha256').update(error).digest('hex').slice(0, 16), error }
}

/** A word with a digit is a number, an id or an address, and one with an @ is an address. */
function withoutNumbers(word: string): string {
  const body = word.replace(/[.:]+$/, '')
  return /[\p{N}@]/u.test(body) ? ANY + word.slice(body.length) : word
}

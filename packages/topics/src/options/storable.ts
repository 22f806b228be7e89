/** Maximum length of a key, a messageId or a type URL. */
const LONGEST_TEXT = 1_024
/** An entry of a PostgreSQL index has at most 2704 bytes, and a messageId is in one. */
const MOST_TEXT_BYTES = 2_048

/**
 * A short text that every engine can store: PostgreSQL cannot store NUL, and UTF-8 cannot encode half a surrogate pair.
 */
export const isStorable = (text: string): boolean =>
  text !== '' &&
  text.length <= LONGEST_TEXT &&
  // A UTF-16 unit takes at most three bytes, so few texts have to be measured.
  (text.length * 3 <= MOST_TEXT_BYTES || Buffer.byteLength(text) <= MOST_TEXT_BYTES) &&
  !text.includes('\0') &&
  text.isWellFormed()

export const STORABLE_TEXT = `a text of 1 to ${LONGEST_TEXT} characters (at most ${MOST_TEXT_BYTES} bytes in UTF-8), well-formed and without NUL`

/** The maximum value of a Date. */
const LAST_MS = 8.64e15

/**
 * A point in time in milliseconds that every engine can compare; undefined if it is none. Nothing is older than 1970,
 * so earlier times are equivalent.
 */
export function toTime(value: unknown): number | undefined {
  const time = value instanceof Date ? value.getTime() : value
  return typeof time === 'number' && Math.abs(time) <= LAST_MS ? Math.max(0, time) : undefined
}

/** A parameter in PostgreSQL's text format, as `pg` would send it; bytes stay bytes. */
export function toParameter(value: unknown): string | Uint8Array | null {
  if (value === null || value === undefined) return null
  if (value instanceof Uint8Array) return value
  if (Array.isArray(value)) return toArray(value)
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** A literal of a one-dimensional array. */
const toArray = (items: readonly unknown[]): string => `{${items.map(toElement).join(',')}}`

/** A `bytea` as text; text is its UTF-8 bytes. */
export const bytesToText = (item: string | Uint8Array): string => `\\x${Buffer.from(item as string).toString('hex')}`

/** A literal of a `bytea[]`. */
export const bytesToArray = (items: readonly (string | Uint8Array)[]): string => toArray(items.map(bytesToText))

/** A literal of a `text[]`, or null if every element is null. */
export const textToArray = (items: readonly (string | null)[]): string | null =>
  items.every(item => item === null) ? null : toArray(items)

function toElement(item: unknown): string {
  const text = toParameter(item)
  if (text === null) return 'NULL'
  if (typeof text !== 'string') return `"\\\\x${Buffer.from(text).toString('hex')}"`
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/** Numbers of this kind may have more digits than a double holds, or be beyond its range. */
const MAY_BE_ROUNDED = /[\d.]{16}|\d[eE]/

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown
type RawJson = { rawJSON(text: string): unknown }

/**
 * The value of a JSON text, with each number that a double would change kept as it is written: 9007199254740993 is stored as
 * such. `parsed` is the value as it was parsed before; most texts have no such number, and it is returned as it is.
 */
export function exactJson(text: string, parsed: unknown): unknown {
  if (!MAY_BE_ROUNDED.test(text)) return parsed
  const { rawJSON } = JSON as unknown as RawJson
  const exact: Reviver = (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown)
}

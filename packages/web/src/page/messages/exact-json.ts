/**
 * JSON whose numbers stay as they were written: 9007199254740993 and 1.10 are shown as they are stored. A browser that does not tell
 * the source of a number shows it rounded, as every page does.
 */

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown
type RawJson = { rawJSON?(text: string): unknown }

export function parseExact<T>(text: string): T {
  const { rawJSON } = JSON as RawJson
  if (rawJSON === undefined) return JSON.parse(text) as T
  const exact: Reviver = (_, value, context) =>
    typeof value === 'number' && context?.source !== undefined && context.source !== String(value)
      ? rawJSON(context.source)
      : value
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as T
}

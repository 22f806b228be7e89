import { widthOf } from './visible.ts'

/** Columns are as wide as necessary; numbers are right-aligned. */
export function table(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  if (rows.length === 0) return ['(none)']
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...rows.map(row => widthOf(String(row[at] ?? '')))),
  )
  const line = (cells: readonly (string | number)[]): string =>
    cells
      .map((cell, at) => padded(cell, widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(headings), line(widths.map(width => '─'.repeat(width))), ...rows.map(line)]
}

/** Names and their values, one per line. */
export function facts(pairs: readonly (readonly [string, string | number])[]): string[] {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
}

function padded(cell: string | number, width: number): string {
  const room = ' '.repeat(Math.max(0, width - widthOf(String(cell))))
  return typeof cell === 'number' ? room + cell : cell + room
}

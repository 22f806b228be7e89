import type { Figure, Unit } from '../figure.ts'

const HEADER = ['case', 'engine', 'ours', 'raw limit', 'ratio', 'target', 'met', 'note']
/** Numbers stand flush right, words flush left. */
const RIGHT = new Set([2, 3, 4])

/** The figures in aligned columns, for a terminal. */
export function formatTable(figures: readonly Figure[]): string {
  const rows = [HEADER, ...figures.map(toCells)]
  const widths = HEADER.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const lines = rows.map(row =>
    row
      .map((cell, column) =>
        RIGHT.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
  lines.splice(1, 0, widths.map(width => '─'.repeat(width)).join('  '))
  return lines.join('\n')
}

/** One figure in a line, to be seen as soon as it is known. */
export function formatLine(figure: Figure): string {
  const [name, , ours, raw, ratio, target, met] = toCells(figure)
  const parts = [ours, raw && `raw ${raw}`, ratio && `ratio ${ratio}`, target && `${target}: ${met}`]
  return `${name}: ${parts.filter(Boolean).join(', ')}`
}

const toCells = (figure: Figure): string[] => [
  figure.case,
  figure.engine,
  formatValue(figure.ours, figure.unit),
  figure.raw === null ? '' : formatValue(figure.raw, figure.unit),
  figure.ratio === null ? '' : significant(figure.ratio),
  figure.target ?? '',
  figure.met === null ? '' : figure.met ? 'yes' : 'NO',
  figure.note ?? '',
]

function formatValue(value: number, unit: Unit): string {
  const text = Math.abs(value) >= 1_000 ? Math.round(value).toLocaleString('en-US') : significant(value)
  return unit === '/s' ? `${text}/s` : `${text} ${unit}`
}

/** Three digits, without an exponent. */
function significant(value: number): string {
  if (value === 0) return '0'
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toFixed(Math.min(decimals, 5))
}

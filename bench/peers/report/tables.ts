import type { Line } from '../line.ts'
import { SECTIONS } from '../line.ts'
import type { Result, Results } from '../results.ts'

/** The figures by sections, a row for each contender: for a terminal with aligned columns, or in Markdown. */
export function formatTables({ all }: Results, style: 'terminal' | 'markdown'): string {
  return SECTIONS.map(({ title, about, lines }) => {
    const measured = all.filter(({ values, skipped }) => skipped !== null || lines.some(({ name }) => values.has(name)))
    const shown = lines.filter(({ name }) => all.some(({ values }) => values.has(name)))
    if (shown.length === 0) return ''
    const rows = [
      ['', ...shown.map(line => (style === 'markdown' ? line.title : `${line.title}, ${line.unit}`))],
      ...measured.map(result => [nameOf(result), ...shown.map(line => cellOf(result, line))]),
    ]
    const table = style === 'markdown' ? toMarkdown(rows) : toColumns(rows)
    return style === 'markdown' ? `### ${title}\n\n${about}\n\n${table}` : `${title}: ${about}\n${table}`
  })
    .filter(Boolean)
    .join('\n\n')
}

export const nameOf = ({ entrant, version }: Result): string => [entrant.name, version].filter(Boolean).join(' ')

export function formatNumber(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  if (value === 0) return '0'
  return value.toPrecision(Math.abs(value) >= 0.01 ? 2 : 1)
}

function cellOf({ values, skipped }: Result, { name, unit }: Line): string {
  const value = values.get(name)
  if (value === null && unit === 'ms') return 'falls behind'
  if (value == null) return skipped === null || values.size > 0 ? '–' : 'skipped'
  return unit === 'ms' ? `${formatNumber(value)} ms` : unit === 'MB' ? `${formatNumber(value)} MB` : formatNumber(value)
}

function toMarkdown(rows: readonly (readonly string[])[]): string {
  const [header = [], ...body] = rows
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map((_, column) => (column === 0 ? '---' : '---:'))), ...body.map(line)].join('\n')
}

function toColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
  return rows.map(row => `  ${line(row)}`.trimEnd()).join('\n')
}

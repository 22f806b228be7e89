import type { Line } from '../line.ts'
import type { Result } from '../results.ts'
import { formatNumber, nameOf } from './tables.ts'

export type Panel = { readonly title: string; readonly line: Line }

export type Theme = {
  readonly text: string
  readonly quiet: string
  readonly ours: string
  readonly peer: string
  readonly limit: string
}

/** Contrast of at least 4.5 to 1 with the page's background, which is not painted. */
export const THEMES: { readonly light: Theme; readonly dark: Theme } = {
  light: { text: '#1f2328', quiet: '#59636e', ours: '#0969da', peer: '#afb8c1', limit: '#d4a72c' },
  dark: { text: '#f0f6fc', quiet: '#9198a1', ours: '#4493f8', peer: '#4b535d', limit: '#bb8009' },
}

const WIDTH = 860
const LABELS = 190
const VALUES = 90
const ROW = 22
const BAR = 14
const HEAD = 34
const GAP = 18
const FONT = 'font-family="-apple-system,\'Segoe UI\',Helvetica,Arial,sans-serif"'

/** Horizontal bars, a panel for each line, one bar for each contender in the same order: who wins is the longest or, where
 * lower is better, the shortest. Who could not do it has no bar but a word. */
export function plot(panels: readonly Panel[], all: readonly Result[], theme: Theme): string {
  let top = 0
  const drawn = panels.flatMap(panel => {
    const rows = all.filter(({ values }) => values.has(panel.line.name))
    if (rows.length === 0) return []
    const at = top
    top += HEAD + rows.length * ROW + GAP
    return [drawPanel(panel, rows, at, theme)]
  })
  const label = escapeXml(panels.map(({ title }) => title).join('; '))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}" role="img" aria-label="${label}" ${FONT} font-size="13">
${drawn.join('\n')}
</svg>
`
}

function drawPanel({ title, line }: Panel, rows: readonly Result[], top: number, theme: Theme): string {
  const longest = Math.max(...rows.map(({ values }) => values.get(line.name) ?? 0), Number.MIN_VALUE)
  const room = WIDTH - LABELS - VALUES
  const which = line.better === 'higher' ? 'more is better' : 'less is better'
  const bars = rows.map((result, index) => {
    const value = result.values.get(line.name) ?? null
    const y = top + HEAD + index * ROW
    const middle = y + BAR / 2 + 4.5
    const width = value === null ? 0 : Math.max(1, (value / longest) * room)
    const isOurs = result.entrant.id.startsWith('tidemark')
    const said = value === null ? 'falls behind' : `${formatNumber(value)}${line.unit === 'ms' ? ' ms' : ''}`
    return [
      `<text x="${LABELS - 8}" y="${middle}" text-anchor="end" fill="${theme.text}"${isOurs ? ' font-weight="600"' : ''}>${escapeXml(result.entrant.name)}</text>`,
      `<rect x="${LABELS}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2" fill="${colourOf(result, theme)}"><title>${escapeXml(`${nameOf(result)}: ${said}`)}</title></rect>`,
      `<text x="${(LABELS + width + 6).toFixed(1)}" y="${middle}" fill="${value === null ? theme.quiet : theme.text}">${said}</text>`,
    ].join('\n')
  })
  return [
    `<text x="${LABELS}" y="${top + 20}" fill="${theme.text}" font-weight="600">${escapeXml(title)}<tspan fill="${theme.quiet}" font-weight="400">  ${which}</tspan></text>`,
    ...bars,
  ].join('\n')
}

function colourOf({ entrant }: Result, theme: Theme): string {
  if (entrant.id.startsWith('tidemark')) return theme.ours
  return entrant.id === 'bare-sql' ? theme.limit : theme.peer
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Figure } from '../../figure.ts'
import { LINES, type LineName } from '../line.ts'
import type { Results } from '../results.ts'
import { type Panel, plot, THEMES } from './plot.ts'
import { formatNumber, formatTables, nameOf } from './tables.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PAGE = 'docs/performance.md'
const BEGIN = '<!-- begin: npm run bench -- peers --write -->'
const END = '<!-- end -->'

const line = (name: LineName): Panel['line'] => {
  const found = LINES.find(each => each.name === name)
  if (found === undefined) throw new Error(`There is no line '${name}'`)
  return found
}
const panel = (title: string, name: LineName): Panel => ({ title, line: line(name) })

/** The README has the first; docs/performance.md has both. */
const PLOTS: { readonly [name: string]: readonly Panel[] } = {
  peers: [
    panel('One group handles and acknowledges a backlog, messages per second', 'drain'),
    panel('Published to and handled by 16 groups, deliveries per second', 'fan-out-16'),
    panel('Publish to handler at 100 messages per second, median', 'latency-100-p50'),
  ],
  'peers-more': [
    panel('One caller publishes one message at a time, per second', 'publish-single'),
    panel('200 callers publish one message at a time, per second', 'publish-concurrent'),
    panel('Batches of 1000 are published, messages per second', 'publish-batch'),
    panel('Published to and handled by 64 groups, deliveries per second', 'fan-out-64'),
    panel('Publish to handler at 5000 messages per second, median', 'latency-5000-p50'),
  ],
}

/** Tables and plots into the documentation. Gives the files that were written. */
export function writeReport(results: Results, figures: readonly Figure[]): string[] {
  const pictures = Object.entries(PLOTS).flatMap(([name, panels]) =>
    Object.entries(THEMES).map(([theme, colours]) => {
      const file = `docs/pictures/${name}-${theme}.svg`
      writeFileSync(join(ROOT, file), plot(panels, results.all, colours))
      return file
    }),
  )
  const page = readFileSync(join(ROOT, PAGE), 'utf8')
  writeFileSync(join(ROOT, PAGE), replaceBlock(page, markdownOf(results, figures)))
  return [...pictures, PAGE]
}

function replaceBlock(page: string, content: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`${PAGE} has no block between '${BEGIN}' and '${END}' to write into`)
  return `${page.slice(0, from + BEGIN.length)}\n\n${content}\n\n${page.slice(to)}`
}

function markdownOf(results: Results, figures: readonly Figure[]): string {
  return [
    whenAndWhere(results),
    picture('peers', 'Backlog drained, fan-out to 16 groups and latency, by contender'),
    formatTables(results, 'markdown'),
    picture('peers-more', 'Publishing, fan-out to 64 groups and latency under load, by contender'),
    '### Targets',
    targetsOf(figures),
    '### Settings',
    ...settingsOf(results),
  ].join('\n\n')
}

function whenAndWhere({ at, quick, rounds, facts }: Results): string {
  const { node, platform, cores, cpu, memoryGB, load, postgres, redis, nats, sqlite } = facts
  const servers = Object.entries({ PostgreSQL: postgres, SQLite: sqlite, Redis: redis, 'NATS server': nats })
    .flatMap(([name, version]) => (version === undefined || version === '' ? [] : [`${name} ${version}`]))
    .join(', ')
  const warning = quick ? ' **A `--quick` run: it shows that everything works, not how fast it is.**' : ''
  return (
    `Measured on ${at.toISOString().slice(0, 10)}, medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}, on ${cores} cores ` +
    `(${cpu}, ${memoryGB} GB, ${platform}, load ${load} at the end), Node ${node}, ${servers}.${warning}`
  )
}

const picture = (name: string, alt: string): string =>
  `<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="pictures/${name}-dark.svg">\n` +
  `  <img alt="${alt}" src="pictures/${name}-light.svg">\n</picture>`

/** What is missed comes first, with its figures. */
function targetsOf(figures: readonly Figure[]): string {
  const judged = figures.filter(({ met }) => met !== null)
  const missed = judged.filter(({ met }) => met === false)
  if (judged.length === 0) return 'None of the lines with a target was measured.'
  const summary = `${judged.length - missed.length} of ${judged.length} targets are met.`
  if (missed.length === 0) return summary
  const rows = missed.map(
    ({ case: name, engine, note, ratio, target }) =>
      `| ${LINES.find(each => each.name === name)?.title ?? name} (\`${name}\`) | ${engine} | ${note} | ${ratio === null ? '–' : formatNumber(ratio)} | ${target} |`,
  )
  return [
    `${summary} Missed:`,
    '',
    '| line | Tidemark on | | ratio | target |',
    '| --- | --- | --- | ---: | --- |',
    ...rows,
  ].join('\n')
}

function settingsOf({ all }: Results): string[] {
  const rows = all.map(result => `| ${nameOf(result)} | ${result.entrant.settings} |`)
  const skipped = all.flatMap(({ entrant, skipped: why }) =>
    why === null ? [] : [`- ${entrant.name} was skipped: ${why}.`],
  )
  const table = ['| | settings and durability |', '| --- | --- |', ...rows].join('\n')
  return skipped.length === 0 ? [table] : [table, skipped.join('\n')]
}

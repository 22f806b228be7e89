import type { Figure } from '../figure.ts'
import { formatLine } from '../report/table.ts'
import { ENGINES, type EngineName, type Suite, type SuiteOptions, type SuiteResult } from '../suite.ts'
import { CASES } from './cases.ts'
import type { BenchEngine } from './engines/engine.ts'
import { openPostgresEngine } from './engines/postgres.ts'
import { openSqliteEngine } from './engines/sqlite.ts'
import { runInProcess } from './run-in-process.ts'

const REMARKS = [
  'Payloads are JSON objects of 200 bytes. Each figure is the median of runs that take turns with the raw limit, ' +
    'and each ratio the median of the ratios of such turns.',
  'Raw limits: plain table in the same database, prepared statements, the payloads encoded beforehand. SQLite: WAL, ' +
    'synchronous = full. PostgreSQL: fsync on, pg, one connection, one binary bytea[] a batch, default parsing of results.',
  'Each case runs in a process of its own, all of them on one database.',
  'Drains are timed from start() of the groups (subscribing included) to the last ack stored, with an async handler.',
  'PostgreSQL is told to ANALYZE after a log was filled, as autovacuum would within a minute; "just published" is without.',
  'Peers have a suite of their own: npm run bench -- peers.',
]

export const topics: Suite = {
  name: 'topics',
  about: 'the durable topics, next to what the engine itself can do',
  cases: CASES,
  run: runTopics,
}

async function runTopics(options: SuiteOptions): Promise<SuiteResult> {
  const figures: Figure[] = []
  const versions: Record<string, string> = {}
  for (const name of ENGINES.filter(each => options.engines.includes(each))) {
    await using engine = await openEngine(name)
    versions[name] = engine.version
    figures.push(...(await runOn(engine, options)))
  }
  return { figures: byCase(figures), versions, remarks: REMARKS }
}

async function openEngine(name: EngineName): Promise<BenchEngine> {
  return name === 'sqlite' ? openSqliteEngine() : await openPostgresEngine()
}

async function runOn(engine: BenchEngine, { only, quick, progress }: SuiteOptions): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const each of CASES) {
    if (!each.engines.includes(engine.name) || (only !== undefined && !each.name.includes(only))) continue
    const say = (text: string): void => progress(`${engine.name.padEnd(8)}  ${each.name}${text && `: ${text}`}`)
    say('')
    const measured = await runInProcess({ case: each.name, engine: engine.name, url: engine.url, quick }, say)
    for (const one of measured) progress(`${engine.name.padEnd(8)}    ${formatLine(one)}`)
    figures.push(...measured)
  }
  return figures
}

/** The engines' figures of one case stand together. */
function byCase(figures: readonly Figure[]): Figure[] {
  const names = [...new Set(figures.map(figure => figure.case))]
  return names.flatMap(name => figures.filter(figure => figure.case === name))
}

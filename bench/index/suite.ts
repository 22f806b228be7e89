import type { Figure } from '../figure.ts'
import { formatLine } from '../report/table.ts'
import { ENGINES, type EngineName, type Suite, type SuiteOptions, type SuiteResult } from '../suite.ts'
import type { IndexCase } from './bench-case.ts'
import { http } from './cases/http.ts'
import { indexing, otherIndexes } from './cases/indexing.ts'
import { reading } from './cases/reading.ts'
import { size } from './cases/size.ts'
import type { IndexEngine } from './engines/engine.ts'
import { openPostgresEngine } from './engines/postgres.ts'
import { openSqliteEngine } from './engines/sqlite.ts'

const CASES: readonly IndexCase[] = [indexing, otherIndexes, reading, http, size]
const ROUNDS = 5
const QUICK_ROUNDS = 3

const REMARKS = [
  'Ticks of the reference simulation: 100 × 100 with 5000 occupied cells and 130 organisms. Each figure is the median of runs that take ' +
    'turns with what it is compared with.',
  'Raw limit of indexing: a table of its own in the same database, prepared statements, durable as the index is. ' +
    'SQLite: WAL, synchronous = full. PostgreSQL: fsync on, 100 rows a statement (faster than one bytea[] of all).',
]

export const index: Suite = {
  name: 'index',
  about: 'the indexes of environment, organisms and series: writing, reading, size',
  cases: CASES,
  run: runIndex,
}

async function runIndex({ engines, only, quick, progress }: SuiteOptions): Promise<SuiteResult> {
  const figures: Figure[] = []
  const versions: Record<string, string> = { zstd: process.versions.zstd ?? 'unknown' }
  for (const name of ENGINES.filter(each => engines.includes(each))) {
    await using engine = await openEngine(name)
    versions[name] = engine.version
    for (const each of CASES) {
      if (only !== undefined && !each.name.includes(only)) continue
      progress(`${name.padEnd(8)}  ${each.name}`)
      const sized = (full: number): number => Math.ceil(quick ? full / 10 : full)
      const measured = await each.run({ engine, rounds: quick ? QUICK_ROUNDS : ROUNDS, size: sized })
      for (const one of measured) progress(`${name.padEnd(8)}    ${formatLine(one)}`)
      figures.push(...measured)
    }
  }
  return { figures, versions, remarks: REMARKS }
}

const openEngine = async (name: EngineName): Promise<IndexEngine> =>
  name === 'sqlite' ? openSqliteEngine() : await openPostgresEngine()

import type { Figure } from '../figure.ts'
import { formatLine } from '../report/table.ts'
import { ENGINES, type EngineName, type Suite, type SuiteOptions, type SuiteResult } from '../suite.ts'
import type { BenchCase } from '../topics/bench-case.ts'
import type { BenchEngine } from '../topics/engines/engine.ts'
import { openPostgresEngine } from '../topics/engines/postgres.ts'
import { openSqliteEngine } from '../topics/engines/sqlite.ts'
import { backfillContention } from './cases/backfill-contention.ts'
import { partitionDrop } from './cases/partition-drop.ts'
import { tracking } from './cases/tracking.ts'

const CASES: readonly BenchCase<BenchEngine>[] = [tracking, backfillContention, partitionDrop]

const ROUNDS = 3
const QUICK_ROUNDS = 2

const REMARKS = ['Payloads are JSON objects of 200 bytes. Both sides of a ratio are measured in the same run.']

export const fanout: Suite = {
  name: 'fanout',
  about: 'groups that come, go and lag: tracking, backfill, clean-up',
  cases: CASES,
  run: runFanout,
}

async function runFanout(options: SuiteOptions): Promise<SuiteResult> {
  const figures: Figure[] = []
  const versions: Record<string, string> = {}
  for (const name of ENGINES.filter(each => options.engines.includes(each))) {
    const cases = CASES.filter(
      each => each.engines.includes(name) && (options.only === undefined || each.name.includes(options.only)),
    )
    if (cases.length === 0) continue
    await using engine = await openEngine(name)
    versions[name] = engine.version
    for (const each of cases) figures.push(...(await runCase(each, engine, options)))
  }
  return { figures, versions, remarks: REMARKS }
}

async function openEngine(name: EngineName): Promise<BenchEngine> {
  return name === 'sqlite' ? openSqliteEngine() : await openPostgresEngine()
}

async function runCase(
  each: BenchCase<BenchEngine>,
  engine: BenchEngine,
  { quick, progress }: SuiteOptions,
): Promise<Figure[]> {
  const say = (text: string): void => progress(`${engine.name.padEnd(8)}  ${each.name}${text && `: ${text}`}`)
  say('')
  const size = (full: number): number => (quick ? Math.ceil(full / 10) : full)
  const measured = await each.run({ engine, rounds: quick ? QUICK_ROUNDS : ROUNDS, size, progress: say })
  for (const one of measured) progress(`${engine.name.padEnd(8)}    ${formatLine(one)}`)
  return measured
}

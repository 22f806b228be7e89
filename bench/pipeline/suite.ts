import type { Figure } from '../figure.ts'
import { formatLine } from '../report/table.ts'
import type { Suite, SuiteOptions, SuiteResult } from '../suite.ts'
import type { PipelineCase } from './bench-case.ts'
import { cells } from './cases/cells.ts'
import { indexing } from './cases/indexing.ts'
import { memory } from './cases/memory.ts'
import { persistence } from './cases/persistence.ts'
import { storage } from './cases/storage.ts'

const CASES: readonly PipelineCase[] = [cells, storage, persistence, indexing, memory]
const ROUNDS = 5
const QUICK_ROUNDS = 3

const REMARKS = [
  'Ticks of the reference simulation: 100 × 100 with 5000 occupied cells and 130 organisms. Each figure is the median of runs that take ' +
    'turns with what it is compared with.',
]

export const pipeline: Suite = {
  name: 'pipeline',
  about: 'contracts, storage, persistence and indexing of the pipeline',
  cases: CASES,
  run: runPipeline,
}

async function runPipeline({ only, quick, progress }: SuiteOptions): Promise<SuiteResult> {
  const figures: Figure[] = []
  for (const each of CASES) {
    if (only !== undefined && !each.name.includes(only)) continue
    progress(each.name)
    const size = (full: number): number => Math.ceil(quick ? full / 10 : full)
    const measured = await each.run({ rounds: quick ? QUICK_ROUNDS : ROUNDS, size })
    for (const one of measured) progress(`  ${formatLine(one)}`)
    figures.push(...measured)
  }
  return { figures, versions: { zstd: process.versions.zstd ?? 'unknown' }, remarks: REMARKS }
}

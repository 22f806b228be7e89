import type { BenchCase } from './bench-case.ts'
import { databaseCost } from './cases/database-cost.ts'
import { deadTuples } from './cases/dead-tuples.ts'
import { drain } from './cases/drain.ts'
import { groups } from './cases/groups.ts'
import { latency } from './cases/latency.ts'
import { latencyAcross } from './cases/latency-across.ts'
import { memory } from './cases/memory.ts'
import { publishBatch } from './cases/publish-batch.ts'
import { publishConcurrent } from './cases/publish-concurrent.ts'

/** In this order: the last looks at what the others left behind. */
export const CASES: readonly BenchCase[] = [
  publishBatch,
  publishConcurrent,
  drain,
  groups,
  databaseCost,
  latency,
  latencyAcross,
  memory,
  deadTuples,
]

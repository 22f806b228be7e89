import type { BenchCase } from './bench-case.ts'
import { claims } from './cases/claims.ts'
import { drain } from './cases/drain.ts'
import { publishBatch } from './cases/publish-batch.ts'

export const CASES: readonly BenchCase[] = [publishBatch, drain, claims]

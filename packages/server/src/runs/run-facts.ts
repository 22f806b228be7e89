import { IndexNotFoundError, parseRunId, type RunIndex, type SimulationMetadata } from '@tidemark/pipeline'
import { toProblem } from '../problems/problem.ts'
import type { RunIndexes } from './run-indexes.ts'

/** What the card of a run shows. */
export type RunFacts = {
  readonly runId: string
  /** Whether the run grows: a simulation of this server produces it, or it has grown within the last seconds. */
  readonly live: boolean
  readonly startedAt: Date
  readonly seed: string | null
  readonly shape: readonly number[] | null
  readonly topology: 'torus' | 'bounded' | null
  readonly moleculeTypes: readonly string[]
  readonly samplingInterval: number | null
  readonly ticks: { readonly first: number; readonly last: number; readonly count: number } | null
  readonly alive: number | null
  /** Size of its index. */
  readonly bytes: number | null
  readonly gaps: number
  /** Why its index can't be read; null if it can. */
  readonly problem: string | null
}

/** undefined: it was removed meanwhile. An unreadable index must not hide the others. */
export async function readFacts(runs: RunIndexes, runId: string): Promise<RunFacts | undefined> {
  try {
    return await runs.use(runId, ({ index }) => factsOf(index))
  } catch (error) {
    if (error instanceof IndexNotFoundError) return undefined
    return { ...without(runId), problem: toProblem(error).detail }
  }
}

async function factsOf(index: RunIndex): Promise<RunFacts> {
  const [metadata, { ticks, alive, bytes, gaps }] = await Promise.all([index.metadata(), index.summary()])
  return {
    ...without(index.runId),
    ...(metadata !== null && ofMetadata(metadata)),
    ticks: ticks && { first: ticks.tickStart, last: ticks.tickEnd, count: ticks.ticks },
    alive,
    bytes,
    gaps,
  }
}

const ofMetadata = ({ startedAt, seed, samplingInterval, environment, moleculeTypes }: SimulationMetadata) => ({
  startedAt: new Date(startedAt),
  seed,
  samplingInterval,
  moleculeTypes,
  ...environment,
})

/** The id of a run contains its start time. */
const without = (runId: string): RunFacts => ({
  runId,
  live: false,
  startedAt: new Date(parseRunId(runId).startedAt),
  seed: null,
  shape: null,
  topology: null,
  moleculeTypes: [],
  samplingInterval: null,
  ticks: null,
  alive: null,
  bytes: null,
  gaps: 0,
  problem: null,
})

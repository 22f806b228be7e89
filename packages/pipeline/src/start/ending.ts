import type { Roles } from '../config/roles.ts'
import { type RunGroups, waitingIn } from '../progress/run-groups.ts'
import type { Pipeline } from '../run-pipeline.ts'
import { pauseFor } from '../services/until-aborted.ts'
import type { Source } from './sources.ts'

const ASK_MS = 50

/**
 * A run is over when it has reached its last tick, or if its sources could not start. A run that was stopped, or failed
 * later, can be started again by an operator, so only an interrupt ends it. Ticks over HTTP or from another machine
 * have no known end.
 */
export async function runOver(pipeline: Pipeline, sources: readonly Source[], interrupted: AbortSignal): Promise<void> {
  if (couldNotBegin(pipeline, sources)) return
  while (!interrupted.aborted && !haveEnded(pipeline, sources)) await pauseFor(ASK_MS, interrupted)
}

function couldNotBegin({ report, services }: Pipeline, sources: readonly Source[]): boolean {
  const failed = report.failed.map(({ service }) => service)
  const needed = sources.length > 0 ? sources.map(({ name }) => name) : services.names
  return needed.length > 0 && needed.every(name => failed.includes(name))
}

const haveEnded = (pipeline: Pipeline, sources: readonly Source[]): boolean =>
  sources.length > 0 && sources.every(source => hasEnded(pipeline, source))

/** A run with a last tick also ends with an error, because nobody may be there to handle it. */
function hasEnded({ services }: Pipeline, { name, type, lastTick }: Source): boolean {
  const { state, metrics } = services.statusOf(name)
  if (type === 'simulation') {
    return lastTick !== undefined && (state === 'ERROR' || (state === 'STOPPED' && (metrics.tick ?? 0) >= lastTick))
  }
  return type === 'ingest' && (state === 'ERROR' || (state === 'STOPPED' && metrics.atEnd === 1))
}

/**
 * After its last tick: stored, announced and indexed. The same applies to what a source produced before it failed. An
 * interrupt does not wait for it; the next start continues.
 */
export async function finish(
  pipeline: Pipeline,
  { roles, sources, groups }: { roles: Roles; sources: readonly Source[]; groups: RunGroups },
  interrupted: AbortSignal,
): Promise<void> {
  const { writers } = roles
  const indexers = roles.indexers.map(({ name }) => name)
  const isAnyFailed = (names: readonly string[]): boolean =>
    names.some(name => pipeline.services.statusOf(name).state === 'ERROR')
  // Without a source there may be no run to wait for.
  if (interrupted.aborted || sources.length === 0) return
  if (isAnyFailed(sources.map(({ name }) => name)) && !(await hasBegun(pipeline, sources, groups))) return
  // They store what is left in the queues, however long that takes, and end. A stop would give them only one attempt.
  pipeline.endQueues()
  while (!interrupted.aborted && writers.some(name => isRunning(pipeline, name))) await pauseFor(ASK_MS, interrupted)
  // A stopped service is waited for, because it can be started again. A failed one is not.
  while (!interrupted.aborted && !isAnyFailed(indexers)) {
    const isStored = pipeline.queued() === 0 || isAnyFailed(writers)
    if (isStored && (await isIndexed(pipeline, roles, groups))) return
    await pauseFor(ASK_MS, interrupted)
  }
}

/** Something was produced and its metadata is known; without metadata the indexers would wait forever. */
async function hasBegun(pipeline: Pipeline, sources: readonly Source[], groups: RunGroups): Promise<boolean> {
  const putTicks = sources.some(({ name }) => (pipeline.services.statusOf(name).metrics.ticks ?? 0) > 0)
  if (!putTicks) return false
  return sources.some(({ hasMetadata }) => hasMetadata) || ((await groups.health())?.length ?? 0) > 0
}

const isRunning = (pipeline: Pipeline, name: string): boolean =>
  !['STOPPED', 'ERROR'].includes(pipeline.services.statusOf(name).state)

/** Everything stored is announced, and everything announced is indexed. Failed batches are dead letters. */
async function isIndexed(pipeline: Pipeline, { reconcilers }: Roles, groups: RunGroups): Promise<boolean> {
  // Files that were stored before a crash and not announced are found only by the first scan.
  for (const name of reconcilers) {
    const { state, metrics } = pipeline.services.statusOf(name)
    if (state !== 'STOPPED' && state !== 'ERROR' && !metrics.looks) return false
  }
  if (groups.names.length === 0) return true
  // Until an indexer has the run's metadata it has no group, and nothing can wait in it.
  const found = await groups.health()
  return found?.length === groups.names.length && found.every(group => waitingIn(group) === 0)
}

import type { Roles } from '../config/roles.ts'
import { type RunGroups, waitingIn } from '../progress/run-groups.ts'
import type { Pipeline } from '../run-pipeline.ts'
import { pauseFor } from '../services/until-aborted.ts'
import type { Source } from './sources.ts'

const ASK_MS = 50

/**
 * Over is a run that has come to its last tick, or whose sources could not start in the first place. One that was stopped, or
 * failed later, can be started again by whoever operates it: only an interrupt ends that. Ticks over HTTP, and those of
 * another machine, have no end that could be known here.
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

/** A run that is to end with a certain tick ends with an error too: nobody has to be there to see to it. */
function hasEnded({ services }: Pipeline, { name, type, lastTick }: Source): boolean {
  const { state, metrics } = services.statusOf(name)
  if (type === 'simulation') {
    return lastTick !== undefined && (state === 'ERROR' || (state === 'STOPPED' && (metrics.tick ?? 0) >= lastTick))
  }
  return type === 'ingest' && (state === 'ERROR' || (state === 'STOPPED' && metrics.atEnd === 1))
}

/**
 * After its last tick: stored, announced and in the index. So is what a source has handed on before it failed. Someone who
 * interrupts need not wait; the next start goes on.
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
  // They store what is left in the queues, however long that takes, and end. A stop would leave them one attempt.
  pipeline.endQueues()
  while (!interrupted.aborted && writers.some(name => isRunning(pipeline, name))) await pauseFor(ASK_MS, interrupted)
  // One that somebody has stopped is waited for: it can be started again. One that failed is not.
  while (!interrupted.aborted && !isAnyFailed(indexers)) {
    const isStored = pipeline.queued() === 0 || isAnyFailed(writers)
    if (isStored && (await isIndexed(pipeline, roles, groups))) return
    await pauseFor(ASK_MS, interrupted)
  }
}

/** Something was handed on, and its metadata is known: without that the indexers would wait for ever. */
async function hasBegun(pipeline: Pipeline, sources: readonly Source[], groups: RunGroups): Promise<boolean> {
  const putTicks = sources.some(({ name }) => (pipeline.services.statusOf(name).metrics.ticks ?? 0) > 0)
  if (!putTicks) return false
  return sources.some(({ hasMetadata }) => hasMetadata) || ((await groups.health())?.length ?? 0) > 0
}

const isRunning = (pipeline: Pipeline, name: string): boolean =>
  !['STOPPED', 'ERROR'].includes(pipeline.services.statusOf(name).state)

/** All that is stored is announced, and all that is announced is indexed. Of a batch that failed, the dead letters tell. */
async function isIndexed(pipeline: Pipeline, { reconcilers }: Roles, groups: RunGroups): Promise<boolean> {
  // What was stored before a kill and not announced, only the first look finds.
  for (const name of reconcilers) {
    const { state, metrics } = pipeline.services.statusOf(name)
    if (state !== 'STOPPED' && state !== 'ERROR' && !metrics.looks) return false
  }
  if (groups.names.length === 0) return true
  // Until an indexer has the run's metadata there is no group, and nothing that could wait in it.
  const found = await groups.health()
  return found?.length === groups.names.length && found.every(group => waitingIn(group) === 0)
}

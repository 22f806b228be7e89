/**
 * Who uses a run: consumers according to their heartbeats, its simulation by a lock, and users of a SQLite index by
 * theirs.
 */
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Tidemark } from 'tidemark'
import { FolderInUseError, lockFolder } from '../databases/folder-lock.ts'
import { isIndexInUse } from '../databases/open-index.ts'
import { type RunLocations, stateOfRun } from './run-locations.ts'

/** Indexers send a heartbeat every 5 s (`run-reader.ts`): after four missing ones nobody is there. */
const SILENT_MS = 20_000
/** Within this time of a group's last heartbeat, a consumer may have started that was not reported yet. */
const NEW_MS = 6_000

/** Reasons why the run can't be removed; empty if nobody uses it. */
export async function usersOf(
  locations: RunLocations,
  runId: string,
  topics: Tidemark | null,
  names: readonly string[],
): Promise<string[]> {
  const reasons: string[] = []
  for (const folder of locations.stateFolders) {
    if (await isSimulated(stateOfRun(folder, runId)))
      reasons.push(`its simulation is running (${stateOfRun(folder, runId)})`)
  }
  for (const address of locations.indexes) {
    if (await isIndexInUse(address, runId)) reasons.push('a process has its index open')
  }
  // A file lock is certain, and released at once.
  const isCertain = locations.indexes.every(address => address.startsWith('sqlite:'))
  if (topics !== null) for (const name of names) reasons.push(...(await consumersOf(topics, name, isCertain)))
  return [...new Set(reasons)]
}

async function isSimulated(folder: string): Promise<boolean> {
  if (!existsSync(folder)) return false
  try {
    using _lock = await lockFolder(folder)
    return false
  } catch (error) {
    if (error instanceof FolderInUseError) return true
    throw error
  }
}

async function consumersOf({ admin }: Tidemark, topic: string, isCertain: boolean): Promise<string[]> {
  const consumers = await admin.consumers(topic)
  const alive = consumers.filter(({ reportedAt, instance }) => isRecent(reportedAt, SILENT_MS) && !isGone(instance))
  if (alive.length > 0 || isCertain) {
    return alive.map(
      ({ group, instance }) => `'${group}' works on it (process ${instance.split('/').slice(0, 2).join('/')})`,
    )
  }
  const groups = await admin.groups(topic)
  return groups
    .filter(
      ({ status, lastHeartbeatAt }) => status === 'ACTIVE' && lastHeartbeatAt && isRecent(lastHeartbeatAt, NEW_MS),
    )
    .filter(({ group }) => !consumers.some(each => each.group === group && isGone(each.instance)))
    .map(({ group }) => `'${group}' sent a heartbeat a moment ago; if it has stopped, try again in ${NEW_MS / 1_000} s`)
}

/** Measured with a clock that may be another machine's; 20 s are enough for clocks that are roughly right. */
const isRecent = (at: Date, withinMs: number): boolean => Date.now() - at.getTime() < withinMs

/** `<host>/<process id>/<number>`: a killed process of this machine can't report its end. */
function isGone(instance: string): boolean {
  const [host, pid] = instance.split('/')
  if (host !== hostname() || !Number.isSafeInteger(Number(pid))) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

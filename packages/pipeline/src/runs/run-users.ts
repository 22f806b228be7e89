/** Who works on a run: its consumers by their heartbeats, its simulation by a lock, the users of a SQLite index by theirs. */
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Tidemark } from 'tidemark'
import { FolderInUseError, lockFolder } from '../databases/folder-lock.ts'
import { isIndexInUse } from '../databases/open-index.ts'
import { type RunLocations, stateOfRun } from './run-locations.ts'

/** Indexers send a heartbeat every 5 s (`run-reader.ts`): four of them missing, and nobody is there any more. */
const SILENT_MS = 20_000
/** Within this time of a group's last heartbeat a consumer may have begun that was not reported yet. */
const NEW_MS = 6_000

/** Why the run can't be removed; nothing where nobody works on it. */
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
  // A file's lock is certain, and lets go at once.
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

/** By a clock that may be another machine's: 20 s are enough for those that keep time at all. */
const isRecent = (at: Date, withinMs: number): boolean => Date.now() - at.getTime() < withinMs

/** `<host>/<process id>/<which>`: a process of this machine that was killed can't say that it ended. */
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

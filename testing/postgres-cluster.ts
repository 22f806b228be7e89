/** The folders that a server keeps everything in: its data; its log and, where it must, its binaries. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createFolder, fastFolder, removeFolder } from './folders.ts'
import { type PostgresBinaries, preparePostgres } from './postgres-binaries.ts'
import { copyFolder, sharedCluster } from './shared-cluster.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

export type PostgresCluster = PostgresBinaries & {
  readonly folders: readonly string[]
  readonly dataDir: string
  readonly logFile: string
}

export type ClusterOptions = {
  /** On the disk. */
  readonly durable?: boolean
  /** With a system identifier of its own; copies of the run's cluster all have the same. */
  readonly ownIdentity?: boolean
}

/** A database has 300 files: a test that makes one of its own waits 130 ms for a disk, and 24 ms for memory. */
export async function createCluster({ durable, ownIdentity }: ClusterOptions): Promise<PostgresCluster> {
  const shared = sharedCluster()
  const folder = createFolder('tidemark-postgres')
  // Nothing can be run in some folders in memory, so the binaries stay here.
  const dataFolder = createFolder('tidemark-postgres', durable ? undefined : fastFolder())
  const folders = [folder, dataFolder]
  try {
    const { initdb, postgres, account } = shared ?? preparePostgres(folder)
    const { uid, gid } = account
    if (uid !== undefined && gid !== undefined) folders.forEach(each => void chownSync(each, uid, gid))
    const places = { folders, dataDir: join(dataFolder, 'data'), logFile: join(folder, 'server.log') }
    const cluster = { initdb, postgres, account, ...places }
    if (shared && !ownIdentity) await copyFolder(shared.dataDir, cluster.dataDir)
    else await initialise(cluster)
    return cluster
  } catch (error) {
    folders.forEach(removeFolder)
    throw error
  }
}

export function removeCluster({ folders }: PostgresCluster): void {
  folders.forEach(removeFolder)
}

export function endOfLog({ logFile }: PostgresCluster): string {
  return readFileSync(logFile, 'utf8').split('\n').slice(-40).join('\n')
}

async function initialise(cluster: PostgresCluster): Promise<void> {
  const flags = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  const log = openSync(cluster.logFile, 'a')
  const initdb = spawn(cluster.initdb, [`--pgdata=${cluster.dataDir}`, ...flags], {
    ...cluster.account,
    cwd: dirname(cluster.logFile),
    // Alone and without a pipe to us, it goes on to its end if we are killed: cut short, it leaves shared memory behind.
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  if (initdb.pid) watchProcess(initdb.pid, 0)
  const [code] = await once(initdb, 'exit')
  if (initdb.pid) unwatchProcess(initdb.pid)
  if (code !== 0) throw new Error(`initdb failed in ${cluster.dataDir}. Its log:\n${endOfLog(cluster)}`)
}

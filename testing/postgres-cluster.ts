/** The folder that a server keeps everything in: its data, its log and, where it must, its binaries. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder, removeFolder } from './folders.ts'
import { type PostgresBinaries, preparePostgres } from './postgres-binaries.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

export type PostgresCluster = PostgresBinaries & { folder: string; dataDir: string; logFile: string }

export async function createCluster(): Promise<PostgresCluster> {
  const folder = createFolder('tidemark-postgres')
  try {
    const binaries = preparePostgres(folder)
    const cluster = { ...binaries, folder, dataDir: join(folder, 'data'), logFile: join(folder, 'server.log') }
    await initialise(cluster)
    return cluster
  } catch (error) {
    removeFolder(folder)
    throw error
  }
}

export function removeCluster({ folder }: PostgresCluster): void {
  removeFolder(folder)
}

export function endOfLog({ logFile }: PostgresCluster): string {
  return readFileSync(logFile, 'utf8').split('\n').slice(-40).join('\n')
}

async function initialise(cluster: PostgresCluster): Promise<void> {
  const flags = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  const log = openSync(cluster.logFile, 'a')
  const initdb = spawn(cluster.initdb, [`--pgdata=${cluster.dataDir}`, ...flags], {
    ...cluster.account,
    cwd: cluster.folder,
    // Alone and without a pipe to us, it goes on to its end if we are killed: cut short, it leaves shared memory behind.
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  if (initdb.pid) watchProcess(initdb.pid, 0)
  const [code] = await once(initdb, 'exit')
  if (initdb.pid) unwatchProcess(initdb.pid)
  if (code !== 0) throw new Error(`initdb failed in ${cluster.folder}. Its log:\n${endOfLog(cluster)}`)
}

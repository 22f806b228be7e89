/** A data folder with the databases of a pipeline, each of which can be taken away on its own. */
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RUN_ID, type Settings, simulationOption } from '../../../packages/pipeline/test/whole/world.ts'
import { Network } from '../../../packages/topics/test/postgres/network.ts'
import { createFolder, fastFolder, removeFolder } from '../../folders.ts'
import { startPostgres } from '../../postgres-server.ts'
import type { Engine } from '../world.ts'

/** Slow enough that the faults meet ticks at every stage. */
export const TICKS_PER_SECOND = 60
const BATCH = 20

/** Batches by number alone, so that the index is the same. */
const settingsOf = (lastTick: number): Settings => ({
  ...simulationOption('RUN_ID', RUN_ID),
  ...simulationOption('MAX_TICKS', lastTick),
  ...simulationOption('TICKS_PER_SECOND', TICKS_PER_SECOND),
  TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__BATCH_TIMEOUT: '10m',
  TIDEMARK_PIPELINE__SERVICES__PERSISTENCE__MAX_BATCH_SIZE: String(BATCH),
})

/** Undoes it. */
type Return = () => Promise<void>

export type PipelinePlace = AsyncDisposable & {
  readonly folder: string
  readonly storage: string
  /** Address of the index, past the network. */
  readonly index: string
  readonly settings: Settings
  takeTopics(): Promise<Return>
  takeIndex(): Promise<Return>
  takeStorage(): Promise<Return>
}

export const createPipelinePlace = (engine: Engine, lastTick: number): Promise<PipelinePlace> =>
  engine === 'sqlite' ? onSqlite(settingsOf(lastTick)) : onPostgres(settingsOf(lastTick))

/** A database is away while another program holds its write lock. */
async function onSqlite(settings: Settings): Promise<PipelinePlace> {
  const folder = createFolder('tidemark-chaos-pipeline', fastFolder())
  const index = join(folder, 'index')
  return {
    ...storageIn(folder),
    index: `sqlite:${index}`,
    settings,
    takeTopics: async () => lock([join(folder, 'topics.db')]),
    takeIndex: async () => lock(existsSync(index) ? readdirSync(index).map(name => join(index, name)) : []),
    [Symbol.asyncDispose]: async () => removeFolder(folder),
  }
}

/** A database is away while its network is silent; topics and index have one each. */
async function onPostgres(settings: Settings): Promise<PipelinePlace> {
  const folder = createFolder('tidemark-chaos-pipeline', fastFolder())
  const server = await startPostgres()
  const topics = await Network.to(server.url)
  const index = await Network.to(server.url)
  const take = (network: Network): Return => {
    network.cut()
    return async () => network.heal()
  }
  return {
    ...storageIn(folder),
    index: server.url,
    settings: {
      ...settings,
      TIDEMARK_PIPELINE__RESOURCES__TOPICS__URL: topics.url,
      TIDEMARK_PIPELINE__RESOURCES__INDEXES__RUNS__ADDRESS: index.url,
    },
    takeTopics: async () => take(topics),
    takeIndex: async () => take(index),
    async [Symbol.asyncDispose]() {
      await topics[Symbol.asyncDispose]()
      await index[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
      removeFolder(folder)
    },
  }
}

/** A file in its place keeps anybody from making the folder again. */
function storageIn(folder: string): Pick<PipelinePlace, 'folder' | 'storage' | 'takeStorage'> {
  const storage = join(folder, 'storage')
  const aside = join(folder, 'storage-aside')
  return {
    folder,
    storage,
    async takeStorage() {
      if (!existsSync(storage)) return async () => {}
      renameSync(storage, aside)
      writeFileSync(storage, '')
      return async () => {
        rmSync(storage)
        renameSync(aside, storage)
      }
    },
  }
}

function lock(files: readonly string[]): Return {
  const databases = files.filter(file => file.endsWith('.db') && existsSync(file)).flatMap(file => lockOne(file))
  return async () => {
    for (const database of databases) {
      database.exec('rollback')
      database.close()
    }
  }
}

/** Nothing if its own writer is at work just now. */
function lockOne(file: string): DatabaseSync[] {
  const database = new DatabaseSync(file, { timeout: 500 })
  try {
    database.exec('begin immediate')
    return [database]
  } catch {
    database.close()
    return []
  }
}

/** Where the database of a run lives: a file on a disk of its own, or a server behind a network that faults can break. */
import { join } from 'node:path'
import { Network } from '../../packages/topics/test/postgres/network.ts'
import { Disk } from '../disk.ts'
import { createFolder, fastFolder, removeFolder } from '../folders.ts'
import { type NatsCluster, startNats } from '../nats-server.ts'
import { type PostgresServer, startPostgres } from '../postgres-server.ts'
import { Turns } from './turns.ts'
import type { Engine } from './world.ts'

export type Place = AsyncDisposable & {
  readonly engine: Engine
  /** For the processes of the run. */
  readonly url: string
  /** For the run itself: no fault of the network applies. */
  readonly directUrl: string
  /** The run itself looks into a SQLite file only while no fault takes the file or its disk away. */
  readonly turns: Turns
  /** PostgreSQL. */
  readonly server: ServerPlace | undefined
  /** JetStream. */
  readonly cluster: NatsCluster | undefined
  /** SQLite. */
  readonly file: FilePlace | undefined
}

export type ServerPlace = { server: PostgresServer; readonly network: Network }

export type FilePlace = {
  readonly path: string
  readonly disk: Disk | undefined
  readonly whyNoDisk: string | undefined
}

/** `wal_buffers` holds commits in memory while a fault delays the writer; the rest of the settings can be changed later. */
const SETTINGS = ['wal_buffers=64MB', 'restart_after_crash=on', 'max_prepared_transactions=0', 'checkpoint_timeout=1h']

export function createPlace(engine: Engine): Promise<Place> {
  if (engine === 'jetstream') return createCluster()
  return engine === 'sqlite' ? createFile() : createServer()
}

async function createFile(): Promise<Place> {
  const disk = await Disk.create()
  const folder = disk instanceof Disk ? undefined : createFolder('tidemark-chaos-data', fastFolder())
  const path = join(disk instanceof Disk ? disk.path : (folder ?? ''), 'app.db')
  const url = `sqlite:${path}`
  return {
    engine: 'sqlite',
    ...{ url, directUrl: url, turns: new Turns(), server: undefined, cluster: undefined },
    file: { path, disk: disk instanceof Disk ? disk : undefined, whyNoDisk: disk instanceof Disk ? undefined : disk },
    async [Symbol.asyncDispose]() {
      if (disk instanceof Disk) await disk[Symbol.asyncDispose]()
      if (folder !== undefined) removeFolder(folder)
    },
  }
}

async function createServer(): Promise<Place> {
  const server = await startPostgres({ settings: SETTINGS })
  const network = await Network.to(server.url)
  const place: ServerPlace = { server, network }
  return {
    engine: 'postgres',
    ...{ url: network.url, directUrl: server.url, turns: new Turns() },
    ...{ file: undefined, server: place, cluster: undefined },
    async [Symbol.asyncDispose]() {
      await network[Symbol.asyncDispose]()
      if (place.server !== server) await place.server[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

async function createCluster(): Promise<Place> {
  const cluster = await startNats({ nodes: 3 })
  const { url } = cluster
  return {
    engine: 'jetstream',
    ...{ url, directUrl: url, turns: new Turns(), file: undefined, server: undefined, cluster },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

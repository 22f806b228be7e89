/** What the processes are told by their environment: deploy/cluster.config.ts as it is, with a small and quick world. */
import { fileURLToPath } from 'node:url'
import { makeRunId } from '@tidemark/pipeline'
import type { Arguments } from './arguments.ts'
import type { Servers } from './servers.ts'

export const CONFIG = fileURLToPath(new URL('../../deploy/cluster.config.ts', import.meta.url))

export const SOURCE = 'simulation,metadata-persistence,persistence,reconciler'
export const INDEXERS = ['environment-indexer', 'organism-indexer', 'series-indexer'] as const
/** Consumer groups of the indexers, and names of their ledgers. */
export const GROUPS = ['environment', 'organism', 'series'] as const

export const BATCH_SIZE = 20
const TICKS_PER_SECOND = 40

export type Environment = Readonly<Record<string, string>>

export type World = { readonly runId: string; readonly settings: Environment }

/** The same world for the cluster and the single machine. */
export function worldOf({ ticks, seed }: Arguments): World {
  const runId = makeRunId()
  const world = {
    RUN_ID: runId,
    SEED: seed,
    SHAPE: '[96,64]',
    ORGANISMS: '24',
    STARTED_AT: String(Date.now()),
    MAX_TICKS: String(ticks - 1),
    SAVE_INTERVAL: '2s',
  }
  return {
    runId,
    settings: {
      ...optionsOf('SIMULATION', world),
      // Batches by number alone: where one ends must not depend on the clock.
      ...optionsOf('PERSISTENCE', { MAX_BATCH_SIZE: String(BATCH_SIZE), BATCH_TIMEOUT: '1h' }),
      // Of a killed process, in place of the 30 s of the configuration: the demonstration waits for them.
      ...Object.assign({}, ...[...INDEXERS, 'metadata-indexer'].map(name => optionsOf(name, { LEASE: '5s' }))),
    },
  }
}

export const onCluster = (world: World, { database, topics, bucket, storage }: Servers): Environment => ({
  ...optionsOf('SIMULATION', { TICKS_PER_SECOND: String(TICKS_PER_SECOND), STATE_FOLDER: 'simulation' }),
  ...world.settings,
  ...own(),
  ...storage,
  DATABASE_URL: database,
  S3_BUCKET: bucket,
  TIDEMARK_PIPELINE__RESOURCES__TOPICS__URL: topics,
})

/** SQLite and files in its folder, as fast as it goes. */
export const onOneMachine = (world: World): Environment => ({
  ...optionsOf('SIMULATION', { STATE_FOLDER: 'simulation', TICKS_PER_SECOND: '1000000' }),
  ...world.settings,
  ...own(),
  DATABASE_URL: 'sqlite:topics.db',
  TICKS_FOLDER: 'storage',
  TIDEMARK_PIPELINE__RESOURCES__TOPICS__URL: 'sqlite:topics.db',
  TIDEMARK_PIPELINE__RESOURCES__INDEXES__RUNS__ADDRESS: 'sqlite:index',
  TIDEMARK_PIPELINE__RESOURCES__STORAGES__TICKS__ROOT: 'storage',
})

export const forServer = ({ database, topics }: Servers): Environment => ({
  ...own(),
  TIDEMARK_DATABASE: topics,
  TIDEMARK_INDEX: database,
})

/** Of this process, except what would lead a role elsewhere. Settings of the pipeline pass, and win. */
function own(): Environment {
  const isForeign = (name: string): boolean =>
    /^(AWS_|(S3_BUCKET|TICKS_FOLDER|STATE_FOLDER|DATABASE_URL|NODE_TEST_CONTEXT)$)/.test(name) ||
    (name.startsWith('TIDEMARK_') && !name.startsWith('TIDEMARK_PIPELINE__'))
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      isForeign(name) || value === undefined ? [] : [[name, value]],
    ),
  )
}

function optionsOf(service: string, options: Environment): Environment {
  const prefix = `TIDEMARK_PIPELINE__SERVICES__${service.replaceAll('-', '_').toUpperCase()}__`
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [prefix + name, value]))
}

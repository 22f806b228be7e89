/** Indexes written by hand, on either engine, and a server that shows them: no pipeline has to run first. */
import {
  environmentIndexer,
  organismIndexer,
  type SimulationMetadata,
  seriesIndexer,
  type Tick,
} from '@tidemark/pipeline'
import { type ServerOptions, startServer } from '@tidemark/server'
import { ENGINES, type Engine, type FreshIndex } from '../../pipeline/test/engines.ts'
import { flushInto, metadataOf, prepareIndex } from '../../pipeline/test/indexes/ticks.ts'
import { type Answer, type Call, SILENT, send } from './servers.ts'

export { ENGINES, type Engine }

const ALL = [environmentIndexer(), organismIndexer(), seriesIndexer]

export type IndexedWorld = AsyncDisposable & {
  readonly url: string
  readonly place: FreshIndex
  readonly runId: string
  /** Path of the run. */
  readonly run: string
  call(method: string, path: string, call?: Call): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  /** Writes ticks of the run, or of another one. */
  write(ticks: readonly Tick[]): Promise<void>
  begin(metadata: Partial<SimulationMetadata> & { readonly runId: string }): Promise<void>
}

export async function indexedWorld(
  engine: Engine,
  metadata: Partial<SimulationMetadata> = {},
  options: ServerOptions = {},
): Promise<IndexedWorld> {
  const place = await engine.fresh()
  const server = await startServer({ port: 0, logger: SILENT, indexes: place.address, ...options })
  const databases = new Map<string, Awaited<ReturnType<FreshIndex['open']>>>()
  const { runId } = place
  const call: IndexedWorld['call'] = (method, path, given) => send(server.url, method, path, given)
  const world: IndexedWorld = {
    url: server.url,
    place,
    runId,
    run: `/api/v1/runs/${runId}`,
    call,
    get: (path, headers) => call('GET', path, headers === undefined ? {} : { headers }),
    async begin(given) {
      const database = await place.open({}, given.runId)
      databases.set(given.runId, database)
      await prepareIndex(database, metadataOf(given.runId, given), ALL)
    },
    async write(ticks) {
      for (const [ofRun, some] of Map.groupBy(ticks, tick => tick.runId)) {
        const database = databases.get(ofRun)
        if (database === undefined) throw new Error(`begin(${ofRun}) first`)
        for (const indexer of ALL) await flushInto(database, indexer, some)
      }
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await place[Symbol.asyncDispose]()
    },
  }
  await world.begin({ runId, ...metadata })
  return world
}

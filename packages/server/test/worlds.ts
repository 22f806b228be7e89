import { join } from 'node:path'
import {
  type Cells,
  checkConfig,
  defaultConfig,
  encodeTick,
  makeRunId,
  type Organism,
  type Pipeline,
  type PipelineConfig,
  runPipeline,
  type SimulationMetadata,
  type Tick,
} from '@tidemark/pipeline'
import { type ServerOptions, startServer } from '@tidemark/server'
import { open, type Tidemark } from 'tidemark'
import { temporaryFolder } from '../../../testing/databases.ts'
import { until } from '../../../testing/until.ts'
import { type Answer, type Call, SILENT, send } from './servers.ts'

export type World = AsyncDisposable & {
  readonly url: string
  /** Where the pipeline keeps all it has. */
  readonly folder: string
  readonly runId: string
  readonly pipeline: Pipeline
  readonly tm: Tidemark
  call(method: string, path: string, call?: Call): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body?: unknown): Promise<Answer>
  /** Posts ticks, delimited. */
  ingest(ticks: readonly Tick[]): Promise<Answer>
  /** Resolves when the environment, organisms and series are indexed up to this tick. */
  indexed(tick: number): Promise<void>
}

const SHAPE = [10, 10]
export const RUN_ID = makeRunId(Date.UTC(2026, 0, 2), '550e8400-e29b-41d4-a716-446655440000')

/**
 * The pipeline without its simulation, and a server: ticks come over HTTP, and so do the answers. `database` holds topics
 * and indexes; without it they are SQLite files in the world's folder.
 */
export async function startWorld(
  options: ServerOptions = {},
  more: PipelineConfig['services'] = {},
  settings: Partial<PipelineConfig> = {},
  database?: string,
): Promise<World> {
  const folder = temporaryFolder()
  const topics = database ?? `sqlite:${join(folder.path, 'topics.db')}`
  const indexes = database ?? `sqlite:${join(folder.path, 'index')}`
  const standard = configOf(folder.path, more)
  const resources = { ...standard.resources, topics: { url: topics }, indexes: { runs: { address: indexes } } }
  const config = checkConfig({ ...standard, resources, ...settings }, folder.path)
  const pipeline = await runPipeline(config, { logger: SILENT, diskLookMs: 50 })
  const tm = await open(topics, { logger: SILENT, maintenance: false })
  const server = await startServer({
    port: 0,
    logger: SILENT,
    topics: tm,
    pipeline,
    indexes,
    ingest: { ticks: pipeline.guardedOutlet('ticks'), metadata: pipeline.outlet('metadata') },
    ...options,
  })
  const call: World['call'] = (method, path, given) => send(server.url, method, path, given)
  return {
    url: server.url,
    folder: folder.path,
    runId: RUN_ID,
    pipeline,
    tm,
    call,
    get: (path, headers) => call('GET', path, headers === undefined ? {} : { headers }),
    post: (path, body) => call('POST', path, { body }),
    ingest: ticks =>
      call('POST', '/api/v1/ingest', { raw: delimited(ticks), headers: { 'content-type': 'application/x-protobuf' } }),
    async indexed(tick) {
      const isIndexed = async () => {
        const { body, status } = await call('GET', `/api/v1/runs/${RUN_ID}/ranges`)
        return (
          status === 200 &&
          Object.values<{ tickEnd: number } | null>(body).every(range => (range?.tickEnd ?? -1) >= tick)
        )
      }
      await until(isIndexed, { what: `tick ${tick} to be indexed`, timeout: 60_000 })
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await tm.close()
      await pipeline.stop()
      folder[Symbol.dispose]()
    },
  }
}

function configOf(dataFolder: string, more: PipelineConfig['services']): PipelineConfig {
  const { services, ...config } = defaultConfig({ dataFolder, ingestedRun: RUN_ID })
  const quick = Object.entries(services).map(([name, service]) => {
    const options = { ...service.options } as Record<string, unknown>
    if ('flushTimeout' in options) options.flushTimeout = '50ms'
    if ('batchTimeout' in options) options.batchTimeout = '50ms'
    return [name, { ...service, options }]
  })
  return { ...config, services: { ...Object.fromEntries(quick), ...more } }
}

export const metadataOf = (runId: string): SimulationMetadata => ({
  runId,
  startedAt: Date.UTC(2026, 0, 2),
  seed: '7',
  samplingInterval: 1,
  environment: { shape: SHAPE, topology: 'torus' },
  settings: '{}',
  moleculeTypes: ['none', 'energy', 'toxin'],
})

/** A world in which one organism walks along the diagonal, leaving energy behind, and has a child at tick 3. */
export const tickOf = (runId: string, tick: number): Tick => ({
  runId,
  tick,
  capturedAt: Date.UTC(2026, 0, 2) + tick,
  cells: cellsOf(tick),
  organisms: [organismOf(1, null, tick), ...(tick >= 3 ? [organismOf(2, 1, tick)] : [])],
})

export const ticksOf = (runId: string, from: number, to: number): Tick[] =>
  Array.from({ length: to - from + 1 }, (_, index) => tickOf(runId, from + index))

function cellsOf(tick: number): Cells {
  const flatIndex = Int32Array.from({ length: Math.min(tick + 1, 10) }, (_, place) => place * 11)
  return {
    flatIndex,
    moleculeType: flatIndex.map(() => 1),
    moleculeValue: flatIndex.map(index => index - tick),
    ownerId: flatIndex.map(() => 1),
  }
}

const organismOf = (id: number, parentId: number | null, tick: number): Organism => ({
  id,
  parentId,
  birthTick: parentId === null ? 0 : 3,
  lineage: 1,
  energy: 100 - tick,
  position: [tick % 10, tick % 10],
  direction: [1, 1],
  genome: Uint8Array.of(id, 2, 3),
  isDead: false,
})

export function delimited(ticks: readonly Tick[]): Buffer {
  return Buffer.concat(ticks.map(encodeTick).flatMap(({ bytes }) => [varint(bytes.length), bytes]))
}

function varint(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  return Uint8Array.from([...bytes, rest])
}

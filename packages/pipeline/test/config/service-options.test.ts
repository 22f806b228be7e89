import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import {
  checkConfig,
  defaultConfig,
  encodeMetadata,
  type Movable,
  openIndex,
  openRunIndex,
  type Pipeline,
  type PipelineConfig,
  runPipeline,
  type ServiceConfig,
  topicOfRun,
} from '../../src/index.ts'
import { SILENT } from '../services/loggers.ts'
import { range, ticksOf } from '../storage/ticks.ts'

const METADATA = {
  startedAt: 0,
  seed: '7',
  samplingInterval: 1,
  environment: { shape: [100, 100], topology: 'torus' },
  settings: '{}',
  moleculeTypes: ['code', 'data', 'energy'],
} as const
const RUN = '20260101-00000000-00000000-0000-4000-8000-00000000000a'

/** The default pipeline on a small world, with other options for some services. */
function configOf(folder: string, options: { readonly [service: string]: object }, settings = {}): PipelineConfig {
  const { resources, services, ...rest } = defaultConfig({ dataFolder: folder })
  const small = {
    simulation: { runId: RUN, shape: [8, 8], maxTicks: 40, ticksPerSecond: 10_000 },
    persistence: { batchTimeout: '50ms', maxBatchSize: 10 },
  }
  const changed = Object.entries(services).map(([name, service]) => {
    const own = { ...service.options, ...small[name as keyof typeof small], ...options[name] }
    return [name, { ...service, options: own } as ServiceConfig]
  })
  const topics = { url: `sqlite:${join(folder, 'topics.db')}`, settings }
  return { ...rest, resources: { ...resources, topics }, services: Object.fromEntries(changed) }
}

const FED = ['persistence', 'metadata-persistence', 'environment-indexer', 'metadata-indexer']

/** Ticks come from the test, not from a simulation. */
function fed(folder: string, options: { readonly [service: string]: object }) {
  const { services, resources, ...config } = configOf(folder, options)
  const chosen = Object.entries(services).filter(([name]) => FED.includes(name))
  const ofRun = chosen.map(([name, service]) => {
    const runId = name.endsWith('-indexer') ? { runId: RUN } : {}
    return [name, { ...service, options: { ...service.options, ...runId } }]
  })
  const queues = { ticks: { external: true }, metadata: { external: true } }
  return checkConfig({ ...config, resources: { ...resources, queues }, services: Object.fromEntries(ofRun) }, '.')
}

/** One batch of ten ticks, and the metadata before it. */
async function feed(pipeline: Pipeline, firstTick: number): Promise<void> {
  await pipeline.outlet('metadata').put({ runId: RUN, bytes: encodeMetadata({ ...METADATA, runId: RUN }) } as Movable)
  for (const tick of ticksOf(range(firstTick, 10), { runId: RUN })) await pipeline.outlet('ticks').put(tick)
}

describe('options of a configuration', () => {
  it('components, lease, polling and topic settings reach the indexer and the topics of the run', async () => {
    using folder = temporaryFolder()
    const indexer = {
      components: ['metadata', 'buffering', 'idempotency', 'dlq'],
      metadataPollInterval: '20ms',
      flushTimeout: '50ms',
      lease: '3m',
    }
    const settings = { 'batch-topic': { maxAttempts: 33, backoff: { initial: '7ms', max: '9ms' } } }
    const config = checkConfig(configOf(folder.path, { 'dummy-indexer': indexer }, settings), '.')
    await using pipeline = await runPipeline(config, { logger: SILENT })
    assert.deepEqual(pipeline.report.failed, [])
    const metrics = (service: string) => pipeline.services.statusOf(service).metrics
    await until(() => metrics('dummy-indexer').ticksIndexed === 41, { what: 'all ticks', timeout: 60_000 })
    const topics = await pipeline.topics()
    const topic = await topics.configureTopic(topicOfRun('batch-topic', RUN))
    assert.deepEqual([topic.maxAttempts, topic.backoff.initialMs, topic.leaseMs], [33, 7, 300_000])
    // 'idempotency' is what keeps keys.
    await using index = await openIndex(`sqlite:${join(folder.path, 'index')}`, RUN, { create: false })
    const metricsOf = (service: string) =>
      pipeline.services.statusOf(service).bindings.find(({ binding }) => binding === 'batches')?.metrics
    await until(
      async () => {
        const [row] = await index.read<{ n: number }>('select count(*) as n from processed_key')
        const { received, acked } = metricsOf('dummy-indexer') ?? {}
        const counts = [row?.n, metrics('dummy-indexer').batchesIndexed, received, acked]
        return row !== undefined && row.n >= 4 && counts.every(count => count === metricsOf('persistence')?.sent)
      },
      { what: 'a key, a delivery and an acknowledgement of each batch' },
    )
  })

  it('firstTick and the lease of the group have their effect', async () => {
    using folder = temporaryFolder()
    // The buffer is never flushed before the stop, so that the claim stays.
    const environment = { firstTick: 0, lease: '3m', flushTimeout: '1h' }
    await using pipeline = await runPipeline(fed(folder.path, { 'environment-indexer': environment }), {
      logger: SILENT,
    })
    assert.deepEqual(pipeline.report.failed, [])
    await feed(pipeline, 10)
    const topics = await pipeline.topics()
    const { claims } = await until(
      async () => {
        const page = await topics.admin.claims(topicOfRun('batch-topic', RUN)).catch(() => undefined)
        return page !== undefined && page.claims.length > 0 && page
      },
      { what: 'a claim' },
    )
    const [claim] = claims
    const leaseMs = (claim?.expiresAt?.getTime() ?? 0) - (claim?.claimedAt.getTime() ?? 0)
    assert.equal(Math.round(leaseMs / 60_000), 3)
    const { services } = pipeline
    await until(() => services.statusOf('environment-indexer').metrics.bufferedTicks === 10, { what: 'ticks to flush' })
    await services.stop('environment-indexer')
    await using index = await openRunIndex(`sqlite:${join(folder.path, 'index')}`, RUN)
    const [gap] = await index.gaps()
    assert.deepEqual([gap?.indexer, gap?.tickStart, gap?.tickEnd], ['environment', 0, 9])
  })

  it('notificationRetries are the retries of an announcement that is refused', async () => {
    using folder = temporaryFolder()
    // Announcements can't go to a queue.
    await using topics = await open(`sqlite:${join(folder.path, 'topics.db')}`, { logger: SILENT, maintenance: false })
    await topics.configureTopic(topicOfRun('batch-topic', RUN), { semantics: 'queue' })
    await topics.publish(topicOfRun('batch-topic', RUN), 'in the way')
    const persistence = { notificationRetries: 2, initialNotificationBackoff: 1, maxNotificationBackoff: 1 }
    await using pipeline = await runPipeline(fed(folder.path, { persistence }), { logger: SILENT })
    let attempts = 0
    pipeline.services.listen(event => {
      if (event.type === 'error' && event.action.startsWith('announce')) attempts++
    })
    await feed(pipeline, 0)
    const { services } = pipeline
    await until(() => services.statusOf('persistence').metrics.notificationsFailed === 1, { what: 'the failure' })
    assert.equal(attempts, 3)
    assert.equal(services.statusOf('persistence').healthy, false)
  })

  for (const [service, options, problem] of [
    ['dummy-indexer', { components: ['metadata', 'metadata'] }, /components/],
    ['dummy-indexer', { components: ['magic'] }, /components.*some of metadata, buffering, idempotency, dlq/],
    ['dummy-indexer', { metadataPollInterval: 0 }, /metadataPollInterval/],
    ['persistence', { notificationRetries: -1 }, /notificationRetries/],
    ['metadata-persistence', { maxNotificationBackoff: 'soon' }, /maxNotificationBackoff/],
  ] as const) {
    it(`of ${service} are checked: ${JSON.stringify(options)}`, () => {
      assert.throws(() => checkConfig(configOf('.', { [service]: options }), '.'), problem)
    })
  }
})

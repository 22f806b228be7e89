import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import {
  checkConfig,
  defaultConfig,
  openIndex,
  type PipelineConfig,
  runPipeline,
  type ServiceConfig,
  topicOfRun,
} from '../../src/index.ts'
import { SILENT } from '../services/loggers.ts'

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

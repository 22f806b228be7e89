import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
// Inside: the check alone, without starting what it checks.
import { withTypes } from '../../src/config/check-whole.ts'
import {
  checkConfig,
  makeRunId,
  type PipelineConfig,
  queue,
  runPipeline,
  topicRead,
  topicWrite,
} from '../../src/index.ts'
import { SILENT } from './loggers.ts'

const TELLER = '../config/scripts/teller.ts'

const configOf = (folder: string, more: object = {}, thread = false): PipelineConfig => ({
  resources: {
    topics: {
      url: `sqlite:${join(folder, 'topics.db')}`,
      settings: { heard: { maxAttempts: 7 }, told: { retention: '2h' } },
    },
    queues: { ticks: { external: true } },
  },
  services: {
    teller: {
      type: TELLER,
      thread,
      bindings: { heard: topicRead('heard', { consumerGroup: 'tellers' }), told: topicWrite('told') },
      options: { times: 2, ...more },
    },
  },
})

describe('a service type of one’s own', () => {
  for (const thread of [false, true]) {
    it(`reads and writes through bindings that are counted in its status${thread ? ', in a thread' : ''}`, async () => {
      using folder = temporaryFolder()
      const config = checkConfig(configOf(folder.path, {}, thread), import.meta.dirname)
      await using pipeline = await runPipeline(config, { logger: SILENT })
      assert.deepEqual(pipeline.report.failed, [])
      await using topics = await open(`sqlite:${join(folder.path, 'topics.db')}`, {
        logger: SILENT,
        maintenance: false,
      })
      await topics.publishBatch('heard', [{ n: 1 }, { n: 2 }, { n: 3 }])
      const bindings = () => pipeline.services.statusOf('teller').bindings
      const metrics = (name: string) => bindings().find(({ binding }) => binding === name)?.metrics
      await until(() => metrics('heard')?.acked === 3, { what: 'three messages' })
      assert.deepEqual(bindings(), [
        {
          binding: 'heard',
          kind: 'topic-read',
          name: 'heard',
          metrics: { received: 3, acked: 3, nacked: 0, extended: 0, failures: 0 },
        },
        { binding: 'told', kind: 'topic-write', name: 'told', metrics: { sent: 6, duplicates: 0, failures: 0 } },
      ])
      // The settings of the configuration are those of the topics.
      assert.equal((await topics.configureTopic('heard')).maxAttempts, 7)
      assert.equal((await topics.configureTopic('told')).retentionMs, 7_200_000)
    })
  }

  it('gets the run of the simulation if it takes one and has none', async () => {
    using folder = temporaryFolder()
    const runId = makeRunId()
    const { resources, services } = configOf(folder.path)
    const stateFolder = join(folder.path, 'states')
    const simulation = {
      type: 'simulation',
      bindings: { ticks: queue('ticks') },
      options: { runId, stateFolder, maxTicks: 1, shape: [4, 4] },
    } as const
    const config = checkConfig(
      { resources, services: { ...services, simulation } } as PipelineConfig,
      import.meta.dirname,
    )
    await using pipeline = await runPipeline(config, { logger: SILENT })
    assert.deepEqual(pipeline.report.failed, [])
    await using topics = await open(`sqlite:${join(folder.path, 'topics.db')}`, { logger: SILENT, maintenance: false })
    await topics.publish('heard', { n: 1 })
    await using reader = topics.reader<{ runId: string }>('told', { group: 'test', from: 'beginning' })
    const { payload } = await reader.receive()
    assert.deepEqual(payload, { n: 1, runId })
  })

  it('has its options and its own check verified before anything starts', async () => {
    const check = async (config: PipelineConfig) => await withTypes(checkConfig(config, import.meta.dirname))
    await assert.rejects(check(configOf('.', { times: 0 })), /services\.teller\.options\.times/)
    await assert.rejects(check(configOf('.', { tmes: 1 })), /services\.teller\.options\.tmes.*one of runId, times/)
    const { resources, services } = configOf('.')
    const unheard = { ...services.teller, bindings: { told: topicWrite('told') } } as typeof services.teller
    const config = { resources, services: { teller: unheard } } as PipelineConfig
    await assert.rejects(check(config), /options\.times.*1 without a binding heard/)
  })
})

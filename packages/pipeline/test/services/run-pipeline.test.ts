import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { until } from '../../../../testing/until.ts'
import { type PipelineConfig, queue, storageRead, topicWrite } from '../../src/index.ts'
import { range } from '../storage/ticks.ts'
import { collected, runConfig, stateOf } from './pipelines.ts'

function configIn(folder: string, services: PipelineConfig['services'] = {}): PipelineConfig {
  return {
    resources: {
      topics: { url: `sqlite:${folder}/topics.db` },
      storages: { files: { root: join(folder, 'storage') } },
      queues: { ticks: {} },
    },
    services: {
      collector: {
        type: './scripts/collector.ts',
        bindings: { ticks: queue('ticks') },
        options: { file: join(folder, 'ticks.txt') },
      },
      ...services,
      simulation: {
        type: 'simulation',
        bindings: { ticks: queue('ticks'), storage: storageRead('files') },
        options: { shape: [10, 10], maxTicks: 40, stateFolder: join(folder, 'state') },
      },
    },
  }
}

describe('a pipeline', () => {
  it('runs from a configuration, tells how it is, and stops', async () => {
    using folder = temporaryFolder()
    const pipeline = await runConfig(configIn(folder.path))
    assert.deepEqual(pipeline.report, { started: ['collector', 'simulation'], failed: [] })
    await until(() => pipeline.services.statusOf('collector').metrics.taken === 41, { what: 'all ticks' })
    const { services, resources, healthy } = pipeline.status()
    assert.equal(healthy, true)
    assert.deepEqual(
      services.map(({ name }) => name),
      ['collector', 'simulation'],
    )
    assert.deepEqual(
      resources.map(({ name, kind, state }) => `${name} ${kind} ${state}`),
      // Topics are opened when a service needs them, and none does.
      ['topics topics CLOSED', 'files storage OPEN', 'ticks queue OPEN'],
    )
    assert.equal(resources[2]?.metrics.totalTaken, 41)
    await pipeline.stop()
    await pipeline.stop()
    assert.deepEqual(
      pipeline.status().services.map(({ state }) => state),
      ['STOPPED', 'STOPPED'],
    )
    assert.deepEqual(
      collected(join(folder.path, 'ticks.txt')).map(({ tick }) => tick),
      range(0, 41),
    )
  })

  it('leaves out what is not enabled', async () => {
    using folder = temporaryFolder()
    const { resources, services } = configIn(folder.path)
    const { collector, ...rest } = services
    assert.ok(collector && rest.simulation)
    await using pipeline = await runConfig({
      ...(resources && { resources }),
      services: { collector: { ...collector, enabled: false }, simulation: rest.simulation },
    })
    assert.deepEqual(pipeline.services.names, ['simulation'])
  })

  it('goes on with its simulation where it has been before, with one run for all', async () => {
    using folder = temporaryFolder()
    const runs = new Set<string>()
    for (const _ of [1, 2]) {
      await using pipeline = await runConfig(configIn(folder.path))
      await until(() => stateOf(pipeline, 'simulation') === 'STOPPED', { what: 'its end' })
      await pipeline.stop()
      for (const { runId } of collected(join(folder.path, 'ticks.txt'))) runs.add(runId)
    }
    assert.equal(runs.size, 1)
  })
})

describe('what is wrong with one service', () => {
  const BAD: readonly [what: string, service: PipelineConfig['services'][string], message: RegExp][] = [
    ['a module that is not there', { type: './nowhere.ts' }, /nowhere\.ts: it could not be loaded/],
    ['a module that throws', { type: './scripts/throws.ts' }, /throws\.ts: it could not be loaded: not today/],
    [
      'a module with no service type',
      { type: './loggers.ts' },
      /loggers\.ts: its default export is not a service type/,
    ],
    [
      'an unknown option',
      { type: './scripts/misbehaving.ts', options: { wey: 'log' } },
      /'services\.bad\.options\.wey' is 'log'; allowed: one of way/,
    ],
    [
      'an unknown binding',
      { type: './scripts/misbehaving.ts', bindings: { ticks: queue('ticks') } },
      /'services\.bad\.bindings\.ticks'.*nothing here/,
    ],
    [
      'settings that its world does not take',
      { type: 'simulation', bindings: { ticks: queue('ticks') }, options: { organisms: 99_999 } },
      /organisms/,
    ],
  ]
  for (const [what, service, message] of BAD) {
    it(`(${what}) is its own failure, and the others run`, async () => {
      using folder = temporaryFolder()
      await using pipeline = await runConfig(configIn(folder.path, { bad: service }))
      assert.deepEqual(pipeline.report.started, ['collector', 'simulation'])
      assert.match(pipeline.report.failed[0]?.error.message ?? '', message)
      assert.equal(stateOf(pipeline, 'bad'), 'ERROR')
      assert.equal(pipeline.status().healthy, false)
    })
  }

  it('(a database that can not be opened) is its own failure, and shows on the resource', async () => {
    using folder = temporaryFolder()
    const bad = { type: './scripts/publisher.ts', bindings: { out: topicWrite('news') } } as const
    const config = configIn(folder.path, { bad })
    const file = join(folder.path, 'in-the-way')
    writeFileSync(file, 'no folder')
    const topics = { url: `sqlite:${file}/topics.db` }
    await using pipeline = await runConfig({ ...config, resources: { ...config.resources, topics } })
    assert.deepEqual(pipeline.report.started, ['collector', 'simulation'])
    const [ofTopics] = pipeline.status().resources
    assert.deepEqual([ofTopics?.state, ofTopics?.healthy, ofTopics?.errors[0]?.action], ['ERROR', false, 'open'])
  })

  it('(a folder that can not be made) is its own failure', async () => {
    using folder = temporaryFolder()
    const config = configIn(folder.path)
    writeFileSync(join(folder.path, 'storage'), 'no folder')
    await using pipeline = await runConfig(config)
    assert.deepEqual(pipeline.report.started, ['collector'])
    assert.equal(pipeline.status().resources.find(({ name }) => name === 'files')?.state, 'ERROR')
  })
})

import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { migratedDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { defaultConfig, index, type PipelineConfig, queue, storageRead, topicWrite } from '../../src/index.ts'
import { Line } from '../line.ts'
import { range, ticksOf } from '../storage/ticks.ts'
import { delimited, METADATA } from './ingested.ts'
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
  it('runs from a configuration, shows its status, and stops', async () => {
    using folder = temporaryFolder()
    const pipeline = await runConfig(configIn(folder.path))
    assert.deepEqual(pipeline.report, { started: ['collector', 'simulation'], waiting: [], failed: [] })
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

  it('leaves out disabled services', async () => {
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

  it('continues the simulation of a known run, with one run for all services', async () => {
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

describe('a resource that is unavailable when a pipeline starts', () => {
  it('is waited for: the service stays STARTING, shows what for, and starts by itself', async () => {
    using folder = temporaryFolder()
    const late = { type: './scripts/publisher.ts', bindings: { out: topicWrite('news') } } as const
    const config = configIn(folder.path, { late })
    const file = join(folder.path, 'unmounted')
    writeFileSync(file, 'no folder')
    const topics = { url: `sqlite:${file}/topics.db` }
    await using pipeline = await runConfig({ ...config, resources: { ...config.resources, topics } })
    assert.deepEqual([pipeline.report.waiting, pipeline.report.failed], [['late'], []])
    const { state, healthy, waitingFor } = pipeline.services.statusOf('late')
    assert.deepEqual([state, healthy, waitingFor], ['STARTING', false, 'the topics database'])
    assert.equal(pipeline.status().healthy, false)
    rmSync(file)
    mkdirSync(file)
    await until(() => !['STARTING', 'ERROR'].includes(stateOf(pipeline, 'late')), { what: 'it to start' })
    await until(() => pipeline.status().healthy, { what: 'all to be well' })
  })

  it('does not keep it from stopping', async () => {
    using folder = temporaryFolder()
    const config = configIn(folder.path)
    writeFileSync(join(folder.path, 'storage'), 'no folder')
    const pipeline = await runConfig(config)
    assert.deepEqual(pipeline.report.waiting, ['simulation'])
    await pipeline.stop({ timeoutMs: 2_000 })
    assert.equal(stateOf(pipeline, 'simulation'), 'STOPPED')
  })

  it('of a service in a thread is waited for too', async () => {
    using folder = temporaryFolder()
    const config = configIn(folder.path)
    const { simulation } = config.services
    assert.ok(simulation)
    writeFileSync(join(folder.path, 'storage'), 'no folder')
    const threaded = { ...config, services: { ...config.services, simulation: { ...simulation, thread: true } } }
    await using pipeline = await runConfig(threaded)
    const { state, waitingFor } = pipeline.services.statusOf('simulation')
    assert.deepEqual([state, waitingFor], ['STARTING', 'the storage'])
    rmSync(join(folder.path, 'storage'))
    await until(() => pipeline.services.statusOf('collector').metrics.taken === 41, { what: 'all ticks' })
  })
})

describe('the status of a pipeline', () => {
  it('checks its databases and storages: a missing one is in ERROR, and OPEN again when it is back', async () => {
    using folder = temporaryFolder()
    await using database = await migratedDatabase()
    await using topicsLine = await Line.to(database.url)
    await using indexLine = await Line.to(database.url)
    const storage = join(folder.path, 'storage')
    await using pipeline = await runConfig({
      resources: {
        topics: { url: topicsLine.url },
        storages: { ticks: { root: storage } },
        indexes: { runs: { address: indexLine.url } },
        queues: {},
      },
      services: {
        idle: {
          type: './scripts/idle.ts',
          bindings: { out: topicWrite('news'), storage: storageRead('ticks'), index: index('runs') },
        },
      },
    })
    assert.equal((await pipeline.look()).healthy, true)
    const faults: [kind: string, takeAway: () => unknown, giveBack: () => unknown][] = [
      ['topics', () => topicsLine.takeAway(), () => topicsLine.giveBack()],
      ['index', () => indexLine.takeAway(), () => indexLine.giveBack()],
      ['storage', () => renameSync(storage, `${storage}.away`), () => renameSync(`${storage}.away`, storage)],
    ]
    for (const [kind, takeAway, giveBack] of faults) {
      const stateOfIt = () => pipeline.status().resources.find(resource => resource.kind === kind)?.state
      await takeAway()
      await until(() => stateOfIt() === 'ERROR', { what: `${kind} to be missed` })
      assert.equal(pipeline.status().healthy, false)
      await giveBack()
      await until(() => stateOfIt() === 'OPEN', { what: `${kind} to be back` })
      assert.equal((await pipeline.look()).healthy, true)
      assert.deepEqual(
        pipeline.status().resources.flatMap(({ errors }) => errors),
        [],
      )
    }
  })

  it('notices a deleted database file, although open connections can still read it', async () => {
    using folder = temporaryFolder()
    const news = { type: './scripts/publisher.ts', bindings: { out: topicWrite('news') } } as const
    await using pipeline = await runConfig(configIn(folder.path, { news }))
    assert.equal((await pipeline.look()).healthy, true)
    renameSync(join(folder.path, 'topics.db'), join(folder.path, 'deleted.db'))
    assert.equal((await pipeline.look()).healthy, false)
    pipeline.clearErrors()
    assert.equal(pipeline.status().healthy, true)
    assert.equal((await pipeline.look()).healthy, false, 'what still fails is told again')
    renameSync(join(folder.path, 'deleted.db'), join(folder.path, 'topics.db'))
    assert.equal((await pipeline.look()).healthy, true)
  })
})

describe('a pipeline whose ticks are ingested', () => {
  it('works on the run that the metadata names, however old', async () => {
    using folder = temporaryFolder()
    const config = defaultConfig({ dataFolder: folder.path, maxDisk: 'none' })
    const { simulation: _, ...services } = config.services
    const [input, metadataFile] = [join(folder.path, 'ticks.pb'), join(folder.path, 'metadata.json')]
    writeFileSync(input, delimited(ticksOf(range(0, 20)).map(({ bytes }) => bytes)))
    const environment = { shape: [100, 100], topology: 'torus' }
    writeFileSync(metadataFile, JSON.stringify({ ...METADATA, environment }))
    const ingest = {
      type: 'ingest',
      bindings: { ticks: queue('ticks'), metadata: queue('metadata'), storage: storageRead('ticks') },
      options: { input, metadataFile },
    } as const
    await using pipeline = await runConfig({ ...config, services: { ...services, ingest } })
    const indexed = () => pipeline.services.statusOf('dummy-indexer').metrics.ticksIndexed
    await until(() => indexed() === 20, { what: 'all ticks to be indexed', timeout: 30_000 })
  })
})

describe('a mistake in one service', () => {
  const BAD: readonly [what: string, service: PipelineConfig['services'][string], message: RegExp][] = [
    ['a module that is not there', { type: './nowhere.ts' }, /nowhere\.ts: it could not be loaded/],
    [
      'a module that throws',
      { type: './scripts/throws.ts' },
      /throws\.ts: it could not be loaded: Error: not today \(throws\.ts, line 1\)/,
    ],
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
      /'services\.bad\.bindings\.ticks'.*no options/,
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

  it('(a database that cannot be opened) is its own failure, and shows on the resource', async () => {
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

  it('(a folder that cannot be made) is its own failure', async () => {
    using folder = temporaryFolder()
    const config = configIn(folder.path)
    writeFileSync(join(folder.path, 'storage'), 'no folder')
    await using pipeline = await runConfig(config)
    assert.deepEqual(pipeline.report.started, ['collector'])
    assert.equal(pipeline.status().resources.find(({ name }) => name === 'files')?.state, 'ERROR')
  })
})

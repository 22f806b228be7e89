import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ConfigError } from 'tidemark'
import { temporaryFolder } from '../../../../testing/folders.ts'
import {
  ConfigFileError,
  checkConfig,
  defineConfig,
  loadConfig,
  type PipelineConfig,
  queue,
  storageRead,
  topicRead,
} from '../../src/index.ts'

const ENTRY = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href

const GOOD = defineConfig({
  resources: {
    topics: { url: 'sqlite:./topics.db' },
    storages: { 'tick-storage': { root: './storage' } },
    queues: { 'tick-queue': { maxItems: 10 } },
  },
  services: {
    source: {
      type: 'simulation',
      bindings: { ticks: queue('tick-queue'), storage: storageRead('tick-storage') },
      options: { seed: 'a', shape: [20, 20], maxTicks: 5 },
    },
  },
})

/** A copy of the good one, with one thing changed. */
function changed(path: string, value: unknown): unknown {
  const config = structuredClone(GOOD) as Record<string, unknown>
  const names = path.split('.')
  const last = names.pop() as string
  let at = config
  for (const name of names) {
    at[name] ??= {}
    at = at[name] as Record<string, unknown>
  }
  at[last] = value
  return config
}

const check = (config: unknown) => checkConfig(config, '/somewhere')

describe('a configuration', () => {
  it('is filled with defaults, in the order it was written', () => {
    const { services, resources, stopTimeout } = check(GOOD)
    assert.deepEqual(
      services.map(({ name, type, enabled, thread }) => ({ name, type, enabled, thread })),
      [{ name: 'source', type: 'simulation', enabled: true, thread: false }],
    )
    assert.equal(services[0]?.options.samplingInterval, 1)
    assert.equal(services[0]?.options.resume, 'newest')
    assert.deepEqual(resources.queues, { 'tick-queue': { maxItems: 10, maxBytes: 64 * 1024 ** 2, external: false } })
    assert.equal(stopTimeout, '30s')
  })

  const MISTAKES: readonly [path: string, value: unknown, option: string, allowed: RegExp][] = [
    ['servces', {}, 'servces', /one of resources, services/],
    ['stopTimeout', 'soon', 'config.stopTimeout', /a duration/],
    ['resources.topic', {}, 'resources.topic', /one of topics, storages, indexes, queues/],
    ['resources.storages.tick-storage.level', 99, 'resources.storages.tick-storage.level', /from 1 to 19/],
    ['resources.storages.tick-storage.root', undefined, 'resources.storages.tick-storage.root', /path of a folder/],
    ['resources.queues.tick-queue.max', 1, 'resources.queues.tick-queue.max', /one of maxItems, maxBytes, external/],
    ['resources.queues.7', {}, 'resources.queues: a name', /a letter, then/],
    ['services', [], 'services', /an object/],
    ['services.source.type', 'simulaton', 'services.source.type', /'simulation', 'ingest'.* or the path of a module/],
    ['services.source.type', 'constructor', 'services.source.type', /'simulation'/],
    ['services.source.threads', true, 'services.source.threads', /one of type, bindings, options, enabled, thread/],
    ['services.source.thread', 'yes', 'services.source.thread', /true or false/],
    ['services.source.options.sed', 'x', 'services.source.options.sed', /one of seed, shape/],
    ['services.source.options.maxTicks', 0, 'services.source.options.maxTicks', /a whole number of at least 1/],
    ['services.source.options.growth', 1.5, 'services.source.options.growth', /from 0 to 1/],
    ['services.source.options.shape', [0], 'services.source.options.shape', /such as \[100, 100\]/],
    ['services.source.options.resume', 'latest', 'services.source.options.resume', /'newest', a run id, or false/],
    ['services.source.bindings.ticks', undefined, 'services.source.bindings.ticks', /queue\('<queue>'\)/],
    ['services.source.bindings.ticks', queue('other'), 'services.source.bindings.ticks', /tick-queue/],
    [
      'services.source.bindings.ticks',
      storageRead('tick-storage'),
      'services.source.bindings.ticks',
      /queue\('<queue>'\)/,
    ],
    [
      'services.source.bindings.tick',
      queue('tick-queue'),
      'services.source.bindings.tick',
      /one of ticks, metadata, storage/,
    ],
    ['services.source.bindings.ticks', 'tick-queue', 'services.source.bindings.ticks', /an object/],
    ['services.source.bindings.ticks', { kind: 'magic', name: 'x' }, 'services.source.bindings.ticks', /topicRead/],
    [
      'services.source.bindings.storage',
      topicRead('t', { consumerGroup: '' }),
      'services.source.bindings.storage.consumerGroup',
      /consumer group/,
    ],
  ]
  for (const [path, value, option, allowed] of MISTAKES) {
    it(`with ${path} = ${JSON.stringify(value)} is refused with name, value and allowed values`, () => {
      assert.throws(
        () => check(changed(path, value)),
        (error: unknown) => {
          assert.ok(error instanceof ConfigError, String(error))
          assert.ok(error.option.startsWith(option), `${error.option} in place of ${option}`)
          assert.match(error.allowed, allowed)
          return true
        },
      )
    })
  }

  it('without the topics that a binding needs is refused', () => {
    const config = changed('services.source.bindings.storage', topicRead('t', { consumerGroup: 'g' })) as PipelineConfig
    const { topics: _, ...resources } = config.resources ?? {}
    assert.throws(
      () => check({ ...config, resources }),
      /resources\.topics.*services\.source\.bindings\.storage needs it/,
    )
  })

  it('never shows an address or its neighbours', () => {
    for (const config of [
      changed('resources.topics.password', 'hunter2'),
      changed('resources.topics.url', ['postgres://me:hunter2@host/db']),
    ]) {
      assert.throws(
        () => check(config),
        (error: Error) =>
          error instanceof ConfigError && !JSON.stringify({ ...error, m: error.message }).includes('hunter2'),
      )
    }
  })
})

describe('a configuration file', () => {
  async function load(source: string, environment: Record<string, string> = {}) {
    using folder = temporaryFolder()
    const file = join(folder.path, 'tidemark.config.ts')
    writeFileSync(file, source.replaceAll('@tidemark/pipeline', ENTRY))
    return await loadConfig(file, { environment })
  }

  const SOURCE = `
    import { defineConfig, queue } from '@tidemark/pipeline'
    export default defineConfig({
      resources: { queues: { 'tick-queue': { external: true } } },
      services: { 'my-source': { type: 'simulation', bindings: { ticks: queue('tick-queue') }, options: { seed: 'file' } } },
    })`

  it('is loaded and checked', async () => {
    const { services } = await load(SOURCE)
    assert.equal(services[0]?.options.seed, 'file')
  })

  const BROKEN: readonly [what: string, source: string, message: RegExp][] = [
    [
      'throws',
      'throw new Error("no luck today")',
      /tidemark\.config\.ts: it could not be loaded: Error: no luck today/,
    ],
    [
      'cannot be parsed',
      'export default {\n  a: {{{',
      /it could not be loaded: SyntaxError: .* \(tidemark\.config\.ts, line 2\)/,
    ],
    ['has no default export', 'export const config = {}', /tidemark\.config\.ts: it has no default export/],
    ['exports a number', 'export default 7', /tidemark\.config\.ts: Option 'config' is 7; allowed: an object/],
    [
      'has a wrong value',
      'export default { services: { a: { type: "ingest", options: { maxTickBytes: -1 } } } }',
      /tidemark\.config\.ts: Option 'services\.a/,
    ],
  ]
  for (const [what, source, message] of BROKEN) {
    it(`that ${what} is an error that names it`, async () => {
      await assert.rejects(load(source), (error: Error) => {
        assert.ok(error instanceof ConfigFileError)
        assert.match(error.message, message)
        return true
      })
    })
  }

  it('that is not there is an error that names it', async () => {
    await assert.rejects(
      loadConfig('/nowhere/tidemark.config.ts'),
      /\/nowhere\/tidemark\.config\.ts: there is no such file/,
    )
  })

  it('is overridden by the environment', async () => {
    const { services, resources, stopTimeout } = await load(SOURCE, {
      TIDEMARK_PIPELINE__SERVICES__MY_SOURCE__SEED: '42',
      TIDEMARK_PIPELINE__SERVICES__MY_SOURCE__MAX_TICKS: '7',
      TIDEMARK_PIPELINE__SERVICES__MY_SOURCE__SHAPE: '[5, 6]',
      TIDEMARK_PIPELINE__SERVICES__MY_SOURCE__ENABLED: 'false',
      TIDEMARK_PIPELINE__RESOURCES__QUEUES__TICK_QUEUE__MAX_ITEMS: '3',
      TIDEMARK_PIPELINE__RESOURCES__TOPICS__URL: 'sqlite:elsewhere.db',
      TIDEMARK_PIPELINE__STOP_TIMEOUT: '1m',
      UNRELATED: 'x',
    })
    const [service] = services
    assert.equal(service?.options.seed, '42')
    assert.equal(service?.options.maxTicks, 7)
    assert.deepEqual(service?.options.shape, [5, 6])
    assert.equal(service?.enabled, false)
    assert.equal(resources.queues['tick-queue']?.maxItems, 3)
    assert.equal(resources.topics?.url, `sqlite:${resolve('elsewhere.db')}`)
    assert.equal(stopTimeout, '1m')
  })

  const MISSPELT: readonly [variable: string, value: string, message: RegExp][] = [
    ['TIDEMARK_PIPELINE__SERVICES__MY_SAUCE__SEED', 'x', /MY_SAUCE__SEED' is 'MY_SAUCE'; allowed: MY_SOURCE/],
    ['TIDEMARK_PIPELINE__SERVICES__MY_SOURCE__SED', 'x', /MY_SOURCE__SED' is 'SED'; allowed: SEED, SHAPE/],
    ['TIDEMARK_PIPELINE__SERVICES__MY_SOURCE__MAX_TICKS', 'many', /MAX_TICKS' is 'many'; allowed: a whole number/],
    ['TIDEMARK_PIPELINE__QUEUES', 'x', /START_TIMEOUT, STOP_TIMEOUT/],
    ['TIDEMARK_PIPELINE__RESOURCES__QUEUES__Q__MAX_ITEMS', '1', /allowed: TICK_QUEUE/],
    ['TIDEMARK_PIPELINE__A__B__C__D__E', '1', /docs\/reference\/configuration\.md/],
  ]
  for (const [variable, value, message] of MISSPELT) {
    it(`with ${variable}=${value} is refused by the variable's name`, async () => {
      await assert.rejects(load(SOURCE, { [variable]: value }), message)
    })
  }
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
// Inside: the check alone, without starting what it checks.
import { withTypes } from '../../src/config/check-whole.ts'
import {
  checkConfig,
  checkWiring,
  defaultConfig,
  queue,
  storageRead,
  storageWrite,
  topicRead,
  topicWrite,
  type Wiring,
  WiringError,
} from '../../src/index.ts'

type Tree = { readonly [name: string]: unknown }

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !('kind' in value)

/** With what the change says in place of what is there; undefined takes it away. */
function changed(given: Tree, change: Tree): Tree {
  const entries = Object.entries(change).map(([name, value]) => {
    const before = given[name]
    return [name, isTree(value) && isTree(before) ? changed(before, value) : value] as const
  })
  return Object.fromEntries(
    Object.entries({ ...given, ...Object.fromEntries(entries) }).filter(([, value]) => value !== undefined),
  )
}

async function problemsOf(change: Tree, wiring: Wiring = {}): Promise<readonly string[]> {
  try {
    const config = checkConfig(changed(defaultConfig(), change), import.meta.dirname)
    checkWiring(await withTypes(config), wiring)
    return []
  } catch (error) {
    return error instanceof WiringError ? error.problems : [(error as Error).message]
  }
}

const bound = (service: string, bindings: Tree): Tree => ({ services: { [service]: { bindings } } })
const batches = (topic: string, consumerGroup: string): Tree => ({ batches: topicRead(topic, { consumerGroup }) })
const settings = (of: Tree): Tree => ({ resources: { topics: { settings: of } } })
const { resources: DEFAULTS, services: SERVICES } = defaultConfig()

const MISTAKES: readonly [what: string, change: Tree, problem: RegExp][] = [
  [
    'a topic that nobody writes, with the name that was meant',
    bound('dummy-indexer', batches('batch-topc', 'dummy')),
    /Topic 'batch-topc' is read by dummy-indexer, but no service writes to it\. Did you mean 'batch-topic'\? .*external: \['batch-topc'\]/,
  ],
  [
    'a topic that nobody reads',
    { services: { teller: { type: './scripts/teller.ts', bindings: { told: topicWrite('told') } } } },
    /Topic 'told' is written by teller, but no service reads it/,
  ],
  [
    'a storage that is to be read, bound for writing',
    bound('dummy-indexer', { storage: storageWrite('ticks') }),
    /services\.dummy-indexer\.bindings\.storage' is 'storageWrite\('ticks'\)'; allowed: storageRead/,
  ],
  [
    'a group name that no group can have',
    bound('dummy-indexer', batches('batch-topic', 'two words')),
    /bindings\.batches\.consumerGroup.*two words.*1 to 128 letters/,
  ],
  [
    'a group name that is too long for a ledger',
    bound('dummy-indexer', batches('batch-topic', 'x'.repeat(65))),
    /bindings\.batches\.consumerGroup.*1 to 64 letters/,
  ],
  [
    'a topic name that has no room for the run behind it',
    bound('dummy-indexer', batches('x'.repeat(90), 'dummy')),
    /a shorter name: each run has its own topic/,
  ],
  [
    'batches announced where no indexer looks',
    bound('persistence', { batches: topicWrite('batches') }),
    /services\.persistence\.bindings\.batches.*topicWrite\('batch-topic'\)/,
  ],
  [
    'a queue that nobody empties',
    { services: { persistence: { enabled: false } } },
    /Queue 'ticks' is filled by simulation, but nothing reads from it: persistence reads from it, but does not run here/,
  ],
  [
    'a queue that nobody fills',
    { services: { simulation: undefined } },
    /Queue 'ticks' is emptied by persistence, but nothing fills it.*resources\.queues\.ticks\.external: true/,
  ],
  [
    'a storage that nobody uses',
    { resources: { storages: { other: { root: './other' } } } },
    /resources\.storages\.other is not used by any service/,
  ],
  [
    'an index that nobody writes',
    { resources: { indexes: { other: { address: 'sqlite:./other' } } } },
    /resources\.indexes\.other is not used by any service/,
  ],
  [
    'a queue that nobody uses',
    { resources: { queues: { other: DEFAULTS?.queues?.ticks } } },
    /resources\.queues\.other is not used by any service/,
  ],
  [
    'indexers of two kinds in one group',
    bound('organism-indexer', batches('batch-topic', 'series')),
    /organism-indexer and series-indexer share the consumer group 'series' of topic 'batch-topic'/,
  ],
  [
    'announced files that lie in another storage',
    {
      resources: { storages: { archive: { root: './archive' } } },
      ...bound('dummy-indexer', { storage: storageRead('archive') }),
    },
    /dummy-indexer reads announced files from storage 'archive', and they are written to 'ticks'/,
  ],
  [
    'two services that are one in the environment',
    { services: { dummyIndexer: SERVICES['dummy-indexer'] } },
    /Services dummy-indexer and dummyIndexer have the same name in environment variables/,
  ],
  [
    'settings of a topic that nobody is bound to',
    settings({ 'batch-topics': { lease: '1m' } }),
    /settings\.batch-topics: no service is bound to this topic\. Did you mean 'batch-topic'\?/,
  ],
  [
    'settings that announcements cannot have',
    settings({ 'batch-topic': { retention: '1h' } }),
    /settings\.batch-topic\.retention can't be set/,
  ],
  [
    'a setting that does not exist',
    settings({ 'batch-topic': { leese: '1h' } }),
    /resources\.topics\.settings\.batch-topic\.leese/,
  ],
  [
    'dead letters without a place',
    {
      services: {
        'dummy-indexer': { bindings: { deadLetters: undefined }, options: { components: ['metadata', 'dlq'] } },
      },
    },
    /dummy-indexer\.bindings\.deadLetters.*'dlq'/,
  ],
  [
    'no service at all',
    { resources: undefined, services: Object.fromEntries(Object.keys(SERVICES).map(name => [name, undefined])) },
    /There is no service to run/,
  ],
]

describe('the check of a whole configuration', () => {
  it('finds no problem in the default one, even if ticks come over HTTP', async () => {
    assert.deepEqual(await problemsOf({}), [])
    const fed = { fedQueues: ['ticks', 'metadata'] }
    assert.deepEqual(await problemsOf({ services: { simulation: undefined } }, fed), [])
  })

  for (const [what, change, problem] of MISTAKES) {
    it(`finds ${what}`, async () => {
      const problems = await problemsOf(change)
      assert.ok(
        problems.some(each => problem.test(each)),
        problems.join('\n') || 'nothing was found',
      )
    })
  }

  it('reports all of them at once', async () => {
    const problems = await problemsOf({
      resources: { indexes: { other: { address: 'sqlite:./other' } } },
      services: { persistence: { enabled: false } },
    })
    assert.equal(problems.length, 2)
  })

  it('trusts the setting that another program uses the other end', async () => {
    const teller = { type: './scripts/teller.ts', bindings: { told: topicWrite('told'), ticks: queue('side') } }
    const external = { topics: { external: ['told'] }, queues: { side: { external: true } } }
    assert.deepEqual(await problemsOf({ resources: external, services: { teller } }), [])
  })

  it('lets several of one kind compete in one group', async () => {
    assert.deepEqual(await problemsOf({ services: { 'second-dummy': SERVICES['dummy-indexer'] } }), [])
  })
})

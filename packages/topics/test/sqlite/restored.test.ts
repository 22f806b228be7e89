import assert from 'node:assert/strict'
import { backup, DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { DatabaseRewoundError, type Events, open, StaleDeliveryError, type Tidemark } from '../../src/index.ts'

const TOPIC = 'events'
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const payloads = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}-${n}`)

/** The content of one file into another, which may be open elsewhere, in one transaction. */
async function copyDatabase(from: string, to: string): Promise<void> {
  const database = new DatabaseSync(from)
  try {
    await backup(database, to)
  } finally {
    database.close()
  }
}

/** Two groups of one process, so that rows are shared, and what they were given. */
async function startGroups(tm: Tidemark): Promise<Record<string, string[]>> {
  const seen: Record<string, string[]> = { a: [], b: [] }
  for (const [name, list] of Object.entries(seen)) {
    const group = tm.consumerGroup<string>(TOPIC, name, { sharedPayloads: true })
    await group.addConsumer(name, ({ payload }) => void list.push(payload)).start({ from: 'beginning' })
  }
  return seen
}

async function received(tm: Tidemark, seen: Record<string, string[]>, last: string): Promise<void> {
  await until(() => Object.values(seen).every(list => list.includes(last)), { what: `${last} at both groups` })
  const settled = async (): Promise<boolean> =>
    (await tm.admin.describeTopic(TOPIC)).groups.every(({ inFlight, backlog }) => inFlight + backlog === 0)
  await until(settled, { what: 'all to be acknowledged' })
}

describe('a file that is restored under a running process', () => {
  for (const { count, what } of [
    { count: 5, what: 'as many as' },
    { count: 3, what: 'fewer than' },
    { count: 40, what: 'more than' },
  ]) {
    it(`has its new messages delivered, and none from memory: ${what} were lost`, async () => {
      using folder = temporaryFolder()
      const path = `${folder.path}/app.db`
      await using tm = await open(`sqlite:${path}`, { logger: silent, maintenance: false })
      const told: Events['database-rewound'][] = []
      tm.on('database-rewound', event => void told.push(event))
      await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
      const seen = await startGroups(tm)
      await tm.publishBatch(TOPIC, payloads('kept', 3))
      await received(tm, seen, 'kept-2')
      await copyDatabase(path, `${folder.path}/copy.db`)
      const lost = await tm.publishBatch(TOPIC, payloads('lost', 5))
      await received(tm, seen, 'lost-4')

      await copyDatabase(`${folder.path}/copy.db`, path)
      for (const list of Object.values(seen)) list.length = 0
      const [first] = await tm.publishBatch(TOPIC, payloads('new', count))
      assert.equal(first?.id, lost[0]?.id, 'ids are given out again')
      await received(tm, seen, `new-${count - 1}`)
      for (const [group, list] of Object.entries(seen)) assert.deepEqual(list, payloads('new', count), group)
      const groups = told.filter(({ sign }) => sign === 'position').map(({ group }) => group)
      assert.deepEqual(groups.toSorted(), ['a', 'b'], 'each group tells once')
      assert.equal(told.filter(({ sign }) => sign === 'message').length, 1)
    })
  }

  it('ends a tail with an error, whether ids have caught up with it or not', async () => {
    for (const count of [1, 9]) {
      using folder = temporaryFolder()
      const path = `${folder.path}/app.db`
      await using tm = await open(`sqlite:${path}`, { logger: silent, maintenance: false })
      await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
      await copyDatabase(path, `${folder.path}/copy.db`)
      const tail = await tm.admin.tail(TOPIC)
      await tm.publishBatch(TOPIC, payloads('lost', 5))
      for (const payload of payloads('lost', 5)) assert.equal((await tail.next()).value?.payload, `"${payload}"`)
      await copyDatabase(`${folder.path}/copy.db`, path)
      await tm.publishBatch(TOPIC, payloads('new', count))
      await assert.rejects(tail.next(), DatabaseRewoundError)
    }
  })

  it('accepts receipts of what it still has, and so does a copy beside it', async () => {
    using folder = temporaryFolder()
    const [path, copy] = [`${folder.path}/app.db`, `${folder.path}/copy.db`]
    await using tm = await open(`sqlite:${path}`, { logger: silent, maintenance: false })
    await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
    await tm.publish(TOPIC, 1)
    const { receipt } = await pulled(tm)
    await copyDatabase(path, copy)
    await using beside = await open(`sqlite:${copy}`, { logger: silent, maintenance: false })
    await beside.settle(receipt, { acks: 'all' })
    assert.equal((await tm.admin.groups(TOPIC))[0]?.inFlight, 1)
    await copyDatabase(path, `${folder.path}/later.db`)
    await tm.publish(TOPIC, 'lost')
    await copyDatabase(`${folder.path}/later.db`, path)
    await tm.settle(receipt, { acks: 'all' })
    assert.equal((await tm.admin.groups(TOPIC))[0]?.inFlight, 0)
  })

  it('refuses settlements of lost messages, and acknowledges no other instead', async () => {
    using folder = temporaryFolder()
    const path = `${folder.path}/app.db`
    await using tm = await open(`sqlite:${path}`, { logger: silent, maintenance: false })
    const told: Events['database-rewound'][] = []
    tm.on('database-rewound', event => void told.push(event))
    await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
    const reader = await tm.reader<string>(TOPIC, { group: 'a', from: 'beginning' }).ready()
    await copyDatabase(path, `${folder.path}/copy.db`)
    await tm.publish(TOPIC, 'lost')
    const held = await reader.receive()
    const { receipt } = await pulled(tm)
    await copyDatabase(`${folder.path}/copy.db`, path)
    await tm.publish(TOPIC, 'new')
    await assert.rejects(reader.ack(held), StaleDeliveryError)
    await assert.rejects(tm.settle(receipt, { acks: 'all' }), StaleDeliveryError)
    const next = await reader.receive()
    assert.equal(next.payload, 'new')
    await reader.ack(next)
    assert.deepEqual(
      told.map(({ group, sign }) => ({ group, sign })),
      [
        { group: undefined, sign: 'message' },
        { group: 'a', sign: 'position' },
      ],
    )
  })
})

/** The lost message, held by a receipt of a second group. */
async function pulled(tm: Tidemark): Promise<{ receipt: string }> {
  const { receipt } = await tm.pull(TOPIC, 'b', { max: 1, from: 'beginning' })
  assert.ok(receipt)
  return { receipt }
}

/** Servers that lose commits, fail over or are restored: each is a PostgreSQL server, made to do so with its own settings and files. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { findFreePort } from '../../../../testing/free-port.ts'
import { skipWithoutPooler, startPooler } from '../../../../testing/pooler.ts'
import { type PostgresServer, startPostgres } from '../../../../testing/postgres-server.ts'
import { until } from '../../../../testing/until.ts'
import {
  DatabaseError,
  type Delivery,
  type Events,
  open,
  type Reader,
  StaleDeliveryError,
  type Tidemark,
} from '../../src/index.ts'
import { functionsSchema } from '../postgres/functions-schema.ts'

const TOPIC = 'events'
/** A server logs 32 sequence values ahead: more messages than that must be lost before ids are reused. */
const MANY = 120
/** Commits stay in memory until somebody asks for more, and go with a server that ends without notice. */
const FORGETFUL = [
  'wal_writer_delay=10s',
  'wal_writer_flush_after=1GB',
  'wal_buffers=64MB',
  'autovacuum=off',
  'checkpoint_timeout=1h',
]
const silent = { debug() {}, info() {}, warn() {}, error() {} }

const CRASHES: readonly { what: string; crash(server: PostgresServer): Promise<void> }[] = [
  {
    what: 'a crash of the server',
    async crash(server) {
      await server.stop('immediate')
      await server.start()
    },
  },
  {
    what: 'a crash of one of its processes, which is no restart of the server',
    async crash(server) {
      const { client, pid } = await connected(server)
      const ended = new Promise<void>(resolve => client.once('end', resolve))
      process.kill(pid, 'SIGKILL')
      await ended
    },
  },
]

describe('a server that comes back without its newest commits, under a running process', () => {
  for (const { what, crash } of CRASHES) {
    it(`has its new messages delivered to both groups, and not the lost ones from memory: ${what}`, async () => {
      await using server = await startPostgres({ settings: [...FORGETFUL, 'synchronous_commit=off'] })
      await using world = await World.start(server.url)
      await world.publish('kept', 3)
      await world.received('kept', 3)
      await flush(server)
      const lost = await world.publish('lost', MANY)
      await world.received('lost', MANY)
      const tail = await world.tm.admin.tail(TOPIC)
      const life = await lifeOf(server)
      assert.equal(await lifeOf(server), life)
      await crash(server)
      await world.checkNew(lost)
      await assert.rejects(tail.next(), DatabaseError)
      assert.notEqual(await lifeOf(server), life, 'a pooler may hide that connections were lost')
    })
  }

  it('… after a failover to an asynchronous replica', async () => {
    await using server = await startPostgres()
    await using world = await World.start(server.url)
    await world.publish('kept', 3)
    await world.received('kept', 3)
    const replica = await server.replica('replica', await findFreePort())
    await replica.start()
    await following(server, replica)
    await replica.stop('fast')
    const lost = await world.publish('lost', MANY)
    await world.received('lost', MANY)
    await server.stop('immediate')
    await using successor = await replica.movedTo(server.port)
    await successor.start()
    await execute(successor.url, 'select pg_promote()')
    await world.checkNew(lost)
  })

  it('… after its data folder was restored', async () => {
    await using server = await startPostgres()
    await using world = await World.start(server.url)
    await world.publish('kept', 3)
    await world.received('kept', 3)
    await server.stop()
    const copy = await server.copyData('copy')
    await server.start()
    const lost = await world.publish('lost', MANY)
    await world.received('lost', MANY)
    await server.stop()
    await server.restoreData(copy)
    await server.start()
    await world.checkNew(lost)
  })

  it('… to a group that was behind, after another had fetched the lost ones', async () => {
    await using server = await startPostgres({ settings: [...FORGETFUL, 'synchronous_commit=off'] })
    await using tm = await open(server.url, { logger: silent, maintenance: false })
    const { quick, slow } = await quickAndSlow(tm)
    await flush(server)
    await tm.publishBatch(TOPIC, payloads('lost', MANY))
    assert.deepEqual(await readAll(quick), payloads('lost', MANY))
    await server.stop('immediate')
    await server.start()
    await patiently(() => tm.publishBatch(TOPIC, payloads('new', MANY)))
    assert.deepEqual(await readAll(slow), payloads('new', MANY))
    assert.deepEqual(await readAll(quick), payloads('new', MANY))
  })

  it('… if only one caller committed without a sync, and what it held is refused', async () => {
    await using server = await startPostgres({ settings: FORGETFUL })
    await using tm = await open(server.url, { logger: silent, maintenance: false })
    await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
    const names = ['a', 'b']
    const readers = await Promise.all(
      names.map(group => tm.reader<string>(TOPIC, { group, from: 'now', batchSize: MANY }).ready()),
    )
    const rewound = signsOf(tm)
    await flush(server)
    await publishUnsynced(server.url, tm, 'lost')
    const held = []
    for (const reader of readers) {
      const delivery = await reader.receive()
      assert.equal(delivery.payload, 'lost-0')
      held.push(delivery)
    }
    await server.stop('immediate')
    await server.start()
    await publishUnsynced(server.url, tm, 'new')
    for (const [index, reader] of readers.entries()) {
      const delivery = held[index]
      assert.ok(delivery)
      await assert.rejects(
        patiently(() => reader.ack(delivery)),
        StaleDeliveryError,
      )
    }
    for (const reader of readers) assert.deepEqual(await readAll(reader), payloads('new', MANY))
    assert.deepEqual(rewound.map(({ group }) => group).toSorted(), names)
  })
})

describe('… behind a pooler, which hides that connections were lost', { skip: skipWithoutPooler }, () => {
  it('is noticed through the claims', async () => {
    await using server = await startPostgres({ settings: [...FORGETFUL, 'synchronous_commit=off'] })
    await using pooler = await startPooler(server.url)
    await using tm = await open(pooler.url, { logger: silent, maintenance: false })
    await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
    const readers = await Promise.all(
      ['a', 'b'].map(group => tm.reader<string>(TOPIC, { group, from: 'now', batchSize: 10 }).ready()),
    )
    await flush(server)
    const lost = await tm.publishBatch(TOPIC, payloads('lost', MANY))
    for (const reader of readers) assert.deepEqual(await readAll(reader), payloads('lost', MANY))
    await server.stop('immediate')
    await server.start()
    const ids = await patiently(() => tm.publishBatch(TOPIC, payloads('new', MANY)))
    assert.ok(ids.some(({ id }) => lost.some(each => each.id === id)))
    for (const reader of readers) assert.deepEqual(await readAll(reader), payloads('new', MANY))
  })

  it('… for a group that was behind, too', async () => {
    await using server = await startPostgres({ settings: [...FORGETFUL, 'synchronous_commit=off'] })
    await using pooler = await startPooler(server.url)
    await using tm = await open(pooler.url, { logger: silent, maintenance: false })
    const { quick, slow } = await quickAndSlow(tm)
    await flush(server)
    await tm.publishBatch(TOPIC, payloads('lost', MANY))
    assert.deepEqual(await readAll(quick), payloads('lost', MANY))
    await server.stop('immediate')
    await server.start()
    await patiently(() => tm.publishBatch(TOPIC, payloads('new', MANY)))
    assert.deepEqual(await readAll(slow), payloads('new', MANY))
  })
})

/** Two readers of one process that stand at the same place: the pages that one fetches are known to the other. */
async function quickAndSlow(tm: Tidemark): Promise<{ quick: Reader<string>; slow: Reader<string> }> {
  await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
  const [quick, slow] = [
    await tm.reader<string>(TOPIC, { group: 'quick', from: 'now', batchSize: MANY }).ready(),
    await tm.reader<string>(TOPIC, { group: 'slow', from: 'now', batchSize: MANY }).ready(),
  ]
  await tm.publishBatch(TOPIC, payloads('kept', MANY))
  for (const reader of [quick, slow]) assert.deepEqual(await readAll(reader), payloads('kept', MANY))
  return { quick, slow }
}

/** The next MANY, acknowledged. */
async function readAll(reader: Reader<string>): Promise<string[]> {
  const seen: Delivery<string>[] = []
  while (seen.length < MANY) seen.push(await patiently(() => reader.receive()))
  // Together: soon after, the server must not have found the time to write its log.
  await Promise.all(seen.map(delivery => reader.ack(delivery)))
  return seen.map(({ payload }) => payload)
}

/** Two groups of one process, so that rows are shared, and what they were given. */
class World {
  readonly tm: Tidemark
  readonly rewound: Events['database-rewound'][]
  readonly seen: Record<string, string[]> = { a: [], b: [] }

  static async start(url: string): Promise<World> {
    const tm = await open(url, { logger: silent, maintenance: false })
    const world = new World(tm)
    await tm.configureTopic(TOPIC, { semantics: 'pub-sub' })
    for (const [name, seen] of Object.entries(world.seen)) {
      const group = tm.consumerGroup<string>(TOPIC, name, { sharedPayloads: true })
      await group.addConsumer(name, ({ payload }) => void seen.push(payload)).start({ from: 'beginning' })
    }
    return world
  }

  constructor(tm: Tidemark) {
    this.tm = tm
    this.rewound = signsOf(tm)
  }

  /** Gives their ids. */
  async publish(name: string, count: number): Promise<number[]> {
    const refs = await patiently(() => this.tm.publishBatch(TOPIC, payloads(name, count)))
    return refs.map(({ id }) => id)
  }

  /** … by both, and acknowledged. */
  async received(name: string, count: number): Promise<void> {
    const last = `${name}-${count - 1}`
    await until(() => Object.values(this.seen).every(seen => seen.includes(last)), { what: `${last} at both groups` })
    const settled = async (): Promise<boolean> =>
      (await this.tm.admin.describeTopic(TOPIC)).groups.every(({ inFlight, backlog }) => inFlight + backlog === 0)
    await until(() => patiently(settled), { what: 'all to be acknowledged' })
  }

  /** What is published now gets the ids of what was lost, and is delivered to both groups: it, and nothing else. */
  async checkNew(lost: readonly number[]): Promise<void> {
    for (const seen of Object.values(this.seen)) seen.length = 0
    await until(() => this.rewound.length > 0, { what: 'the groups to notice' })
    const ids = await this.publish('new', MANY)
    const again = new Set(lost).intersection(new Set(ids))
    assert.ok(again.size > 0, `nothing was lost: ${lost.at(0)} to ${lost.at(-1)}, and then ${ids.at(0)}`)
    await this.received('new', MANY)
    for (const [group, seen] of Object.entries(this.seen)) assert.deepEqual(seen, payloads('new', MANY), group)
    const noticed = this.rewound.filter(({ sign }) => sign === 'position').map(({ group }) => group)
    assert.deepEqual(noticed.toSorted(), ['a', 'b'], 'each group tells once')
    assert.equal(this.rewound.filter(({ sign }) => sign === 'message').length, 1)
    assert.equal(this.tm.metrics().totals.rewound, this.rewound.length)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tm.close()
  }
}

function signsOf(tm: Tidemark): Events['database-rewound'][] {
  const told: Events['database-rewound'][] = []
  tm.on('database-rewound', event => void told.push(event))
  return told
}

const payloads = (name: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${name}-${n}`)

/** In a transaction of the caller's own, which doesn't wait for the disk. */
async function publishUnsynced(url: string, tm: Tidemark, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin; set local synchronous_commit = off')
  await tm.publishBatch(TOPIC, payloads(name, MANY), { tx: client })
  await client.query('commit')
  await client.end()
}

/** A server that is away comes back. */
async function patiently<T>(action: () => Promise<T>): Promise<T> {
  const { result } = await until(
    async () => {
      try {
        return { result: await action() }
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error
        return false
      }
    },
    { what: 'the server to come back' },
  )
  return result
}

async function execute<T extends pg.QueryResultRow>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(text)).rows
  } finally {
    await client.end()
  }
}

const lifeOf = async (server: PostgresServer): Promise<string | undefined> =>
  (await execute<{ life: string }>(server.url, `select ${functionsSchema()}.incarnation() as life`))[0]?.life

/** Everything that was committed is on the disk. */
const flush = (server: PostgresServer) => execute(server.url, 'checkpoint')

async function connected(server: PostgresServer): Promise<{ client: pg.Client; pid: number }> {
  const client = new pg.Client({ connectionString: server.url })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return { client, pid: rows[0]?.pid ?? 0 }
}

/** The replica has all that the server has. */
async function following(server: PostgresServer, replica: PostgresServer): Promise<void> {
  const [primary] = await execute<{ lsn: string }>(server.url, 'select pg_current_wal_lsn() as lsn')
  const text = `select pg_last_wal_replay_lsn() >= '${primary?.lsn}' as there`
  await until(async () => (await execute<{ there: boolean }>(replica.url, text))[0]?.there, {
    what: 'the replica to follow',
  })
}

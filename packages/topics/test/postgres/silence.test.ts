import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { until } from '../../../../testing/until.ts'
import { collect, eventsOf, Gate, groupOf, payloadsOf, range, soon } from '../../src/conformance/consuming.ts'
import {
  ConfigError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  type OpenOptions,
  OutcomeUnknownError,
  open,
  type Tidemark,
} from '../../src/index.ts'
import { executePostgres, SHARED_STORES, SILENT, type TestDatabase } from '../conformance/stores.ts'
import { Network } from './network.ts'

const [postgres] = SHARED_STORES.filter(({ name }) => name === 'PostgreSQL')
const fresh = () => postgres?.fresh() ?? Promise.reject(new Error('There is no PostgreSQL'))

/** `here` speaks through a network that can go silent, `there` to the server itself. */
type World = AsyncDisposable & {
  readonly database: TestDatabase
  readonly network: Network
  readonly here: Tidemark
  readonly there: Tidemark
}

async function world(options: OpenOptions = {}): Promise<World> {
  const database = await fresh()
  const network = await Network.to(database.url)
  const there = await database.open()
  await there.configureTopic('events', { semantics: 'pub-sub' })
  const here = await open(network.url, { logger: SILENT, statementTimeout: '1s', ...options })
  return {
    database,
    network,
    here,
    there,
    async [Symbol.asyncDispose]() {
      await here.close({ timeout: '1s' })
      await network[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** How a network comes back: what hung on it is cut off, or stays silent for ever. */
const WAYS_BACK: Record<string, (network: Network) => void> = {
  'is cut off when it comes back': network => network.heal(),
  'stays silent for ever': network => network.forget(),
}

for (const [what, comeBack] of Object.entries(WAYS_BACK)) {
  describe(`a connection that falls silent and ${what}`, () => {
    it('delays the claims, and the group continues by itself', async () => {
      await using w = await world()
      const group = w.here.consumerGroup<number>('events', 'g')
      const deliveries = collect(group)
      await group.start()
      await w.there.publishBatch('events', [1, 2, 3])
      await until(() => deliveries.length === 3, { what: 'the messages of before' })
      await until(async () => (await groupOf(w.there, 'events', 'g')).inFlight === 0, { what: 'their acks' })
      const errors = eventsOf(w.here, 'error')
      w.network.cut()
      await w.there.publishBatch('events', range(4, 20))
      await until(() => errors.some(({ action }) => action === 'claim'), { what: 'a claim to be given up' })
      comeBack(w.network)
      await until(() => deliveries.length === 20, { what: 'the messages of meanwhile' })
      assert.deepEqual(payloadsOf(deliveries), range(1, 20))
      await until(async () => (await groupOf(w.there, 'events', 'g')).inFlight === 0, { what: 'their acks' })
      assert.equal((await groupOf(w.there, 'events', 'g')).retries, 0)
    })

    it('makes a publish say that its outcome is unknown, and the next one works', async () => {
      await using w = await world()
      await w.here.publish('events', 'before')
      w.network.cut()
      const together = [1, 2, 3].map(payload => w.here.publish('events', payload, { messageId: `m-${payload}` }))
      for (const each of together) {
        await assert.rejects(each, (error: unknown) => {
          assert.ok(error instanceof OutcomeUnknownError)
          assert.match(error.message, /may or may not/)
          return true
        })
      }
      comeBack(w.network)
      const repeat = () => w.here.publish('events', 1, { messageId: 'm-1' }).catch(() => undefined)
      await until(repeat, { what: 'a publish to work again' })
      const { messages } = await w.there.admin.browse('events')
      assert.equal(messages.filter(({ messageId }) => messageId === 'm-1').length, 1)
    })

    it('delays a settlement, which arrives once', async () => {
      await using w = await world()
      const gate = new Gate()
      const group = w.here.consumerGroup<number>('events', 'g')
      const seen: number[] = []
      group.addConsumer('c', async ({ payload, attempt }) => {
        seen.push(payload)
        await gate.passed
        if (payload === 2 && attempt === 1) throw new Error('no')
      })
      await group.start()
      await w.there.publishBatch('events', [1, 2, 3])
      await until(() => seen.length > 0, { what: 'the handler to begin' })
      const errors = eventsOf(w.here, 'error')
      w.network.cut()
      gate.open()
      await until(() => errors.some(({ action }) => action === 'settle'), { what: 'a settlement to be given up' })
      comeBack(w.network)
      await until(async () => (await groupOf(w.there, 'events', 'g')).inFlight === 0, { what: 'the settlements' })
      await until(() => w.here.metrics().totals.acked === 3, { what: 'every ack' })
      assert.deepEqual(seen.toSorted(), [1, 2, 2, 3])
      const { retries, deadLetters, backlog } = await groupOf(w.there, 'events', 'g')
      assert.deepEqual([retries, deadLetters, backlog], [0, 0, 0])
    })

    it('does not keep the listener from hearing of what others publish', async () => {
      await using w = await world({ sweepInterval: '1h' })
      const group = w.here.consumerGroup<number>('events', 'g')
      const deliveries = collect(group)
      await group.start({ heartbeat: { interval: '1h', timeout: '2h' } })
      await w.there.publish('events', 1)
      await until(() => deliveries.length === 1, { what: 'the message of before' })
      const sessions = () => listeners(w.database, 'tidemark')
      const before = await sessions()
      w.network.cut()
      comeBack(w.network)
      await until(async () => (await sessions()).some(pid => !before.includes(pid)), { what: 'a new listener' })
      await w.there.publish('events', 2)
      await until(() => deliveries.length === 2, { what: 'the wake-up' })
    })

    it('drops the other idle connections too: one deadline, not one each', async () => {
      await using w = await world({ poolSize: 10, statementTimeout: '3s' })
      // As many as there can be, at once, so that each has a connection of its own.
      await Promise.all(range(1, 60).map(() => w.here.admin.topics()))
      assert.equal(w.here.metrics().pool.size, 10)
      w.network.cut()
      await assert.rejects(w.here.admin.topics(), DatabaseUnreachableError)
      comeBack(w.network)
      await until(() => w.here.admin.topics().catch(() => undefined), { what: 'a look at the topics', timeout: 9_000 })
    })
  })
}

describe('a claim whose answer is lost', () => {
  it('leaves its messages unheld: they are redelivered at once, with lease 0 too, without counting an attempt', async () => {
    await using w = await world()
    await w.there.configureTopic('events', { lease: 0, maxAttempts: 1 })
    const group = w.here.consumerGroup<number>('events', 'g', { batchSize: 200 })
    const deliveries = collect(group)
    await group.start()
    await w.there.publish('events', 1)
    await until(async () => deliveries.length === 1 && (await groupOf(w.there, 'events', 'g')).inFlight === 0, {
      what: 'the message of before',
    })
    w.network.deafen()
    await w.there.publishBatch('events', range(2, 20))
    // Now and then the answer that is lost is that of an earlier look, which claimed nothing.
    const isClaimed = async () => (await groupOf(w.there, 'events', 'g')).inFlight === 19 || deliveries.length === 20
    await until(isClaimed, { what: 'a claim of all' })
    await until(async () => deliveries.length === 20 && (await groupOf(w.there, 'events', 'g')).inFlight === 0, {
      what: 'all of them',
    })
    assert.deepEqual(
      payloadsOf(deliveries).toSorted((a, b) => Number(a) - Number(b)),
      range(1, 20),
    )
    assert.ok(deliveries.every(({ attempt }) => attempt === 1))
    assert.equal((await groupOf(w.there, 'events', 'g')).deadLetters, 0)
  })
})

describe('health, while the database does not answer', () => {
  it('says so within seconds, and what each group could do last', async () => {
    await using w = await world({ statementTimeout: '1m' })
    const group = w.here.consumerGroup<number>('events', 'g')
    collect(group)
    await group.start()
    await until(async () => (await w.here.admin.groups('events'))[0]?.lastClaimAt, { what: 'a claim' })
    assert.equal((await w.here.admin.health()).healthy, true)
    assert.equal((await w.there.admin.groups('events'))[0]?.lastClaimAt, null, 'which the other process does not know')
    const before = new Date()
    w.network.cut()
    const first = await soon(w.here.admin.health(), 'an answer')
    assert.deepEqual([first.healthy, first.database.reachable, group.status], [false, false, 'ACTIVE'])
    assert.ok(first.database.unreachableSince !== null && first.database.unreachableSince >= before)
    const told = await until(
      async () => {
        const health = await w.here.admin.health()
        return health.failing.length > 0 && health
      },
      { what: 'the group to be failing' },
    )
    const [failing] = told.failing
    assert.deepEqual([failing?.topic, failing?.group], ['events', 'g'])
    assert.ok(failing?.lastClaimAt && failing.failingSince && failing.lastError)
    assert.ok(w.here.metrics().pool.busy <= 7, 'and asks no more than once')
    w.network.heal()
    await until(async () => (await w.here.admin.health()).healthy, { what: 'health again' })
  })

  it('reports an outage once when it begins and once when it is over', async () => {
    const lines: { level: string; fields: Record<string, unknown> }[] = []
    const log = (level: string) => (fields: object) => void lines.push({ level, fields: { ...fields } })
    const logger = { debug() {}, info: log('info'), warn: log('warn'), error: log('error') }
    await using w = await world({ logger })
    const groups = ['a', 'b', 'c'].map(name => w.here.consumerGroup<number>('events', name))
    const deliveries = groups.map(group => collect(group))
    for (const group of groups) await group.start({ heartbeat: { interval: 100, timeout: '1m' } })
    const [began, ended] = [eventsOf(w.here, 'outage'), eventsOf(w.here, 'outage-ended')]
    lines.length = 0
    w.network.cut()
    const publishing = Promise.allSettled(range(1, 5).map(n => w.here.publish('events', n)))
    await until(() => w.here.metrics().failures.claim >= 6, { what: 'claims that fail' })
    await publishing
    const { failures, outages } = w.here.metrics()
    assert.ok(failures.write > 0 && failures.connection >= failures.write + failures.claim)
    assert.deepEqual(
      outages.map(({ kind }) => kind),
      ['connection'],
    )
    w.network.heal()
    await w.there.publish('events', 'after')
    await until(() => deliveries.every(each => each.length > 0), { what: 'the message' })
    await until(() => ended.length > 0, { what: 'the end of it' })
    assert.deepEqual([began.length, ended.length], [1, 1])
    assert.equal(began[0]?.kind, 'connection')
    assert.ok((ended[0]?.failed ?? 0) >= 6 && (ended[0]?.ms ?? 0) > 0)
    const told = lines.filter(({ level }) => level !== 'debug').map(({ level, fields }) => [level, fields.kind])
    assert.deepEqual(told, [
      ['warn', 'connection'],
      ['info', 'connection'],
    ])
  })
})

describe('a database that does not answer', () => {
  it('is reported by open(), and nothing is left behind', async () => {
    await using database = await fresh()
    await using network = await Network.to(database.url)
    network.cut()
    await assert.rejects(open(network.url, { logger: SILENT, statementTimeout: 300 }), DatabaseUnreachableError)
    await until(() => network.connections === 0, { what: 'every connection to be gone' })
    network.heal()
    await (await open(network.url, { logger: SILENT })).close()
  })

  it('does not keep close() from ending, in the middle of everything', async () => {
    await using w = await world({ statementTimeout: '1m' })
    const group = w.here.consumerGroup('events', 'g')
    let begun = 0
    group.addConsumer('c', async () => {
      begun++
    })
    await group.start({ heartbeat: { interval: 50 } })
    const reader = await w.here.reader('events', { group: 'r' }).ready()
    await w.here.publishBatch('events', [1, 2, 3])
    await until(() => begun === 3, { what: 'the handler' })
    w.network.cut()
    const refused = [
      assert.rejects(w.here.publish('events', 4)),
      assert.rejects(w.here.admin.groups('events')),
      assert.rejects(w.here.configureTopic('other')),
      assert.rejects(w.here.admin.jobs.messages.runOnce()),
      assert.rejects(
        w.here
          .consumerGroup('events', 'late')
          .addConsumer('c', () => undefined)
          .start(),
      ),
      assert.rejects(reader.receive()),
    ]
    await until(() => w.here.metrics().pool.busy >= 3, { what: 'statements that wait' })
    await soon(w.here.close({ timeout: 100 }), 'close() to end')
    await Promise.all(refused)
    await until(() => w.network.connections === 0, { what: 'every connection to be gone' })
  })

  it('does not keep close() from ending while it opens connections', async () => {
    await using w = await world({ statementTimeout: '1m' })
    w.network.cut()
    w.network.reset()
    const refused = range(1, 5).map(() => assert.rejects(w.here.admin.topics()))
    await soon(w.here.close({ timeout: 100 }), 'close() to end')
    await Promise.all(refused)
    await until(() => w.network.connections === 0, { what: 'every connection to be gone' })
  })
})

describe('a long call whose connection falls silent for ever', () => {
  it('ends with an error long before the limit of its statements', async () => {
    await using w = await world({ maintenance: false, statementTimeout: '2s' })
    await using _ = await w.there.reader('events', { group: 'g' }).ready()
    // Only the change itself waits for a row; the short statements before it read.
    const lock = await holding(w.database, 'select from tidemark.subscription for update')
    const refused = assert.rejects(w.here.admin.resetGroup('events', 'g', 'beginning'), DatabaseUnreachableError)
    await until(() => hasWaiting(w.database), { what: 'the call to wait' })
    w.network.cut()
    await lock[Symbol.asyncDispose]()
    await until(async () => !(await hasWaiting(w.database)), { what: 'the server to answer' })
    w.network.forget()
    await soon(refused, 'the call to be given up')
  })
})

describe('statementTimeout', () => {
  it('is checked like every option', async () => {
    await using database = await fresh()
    for (const statementTimeout of [0, 99, 'soon', -1]) {
      await assert.rejects(database.open({ statementTimeout } as OpenOptions), ConfigError)
    }
    await assert.rejects(open('sqlite::memory:', { statementTimeout: '1s' }), ConfigError)
  })

  it('ends a publish that waits for a lock too long, which has then stored nothing', async () => {
    await using database = await fresh()
    // The server gives up at a share of it: long enough that its answer comes before this side gives up.
    const tm = await database.open({ statementTimeout: '3s' })
    await tm.configureTopic('work')
    {
      await using _ = await locked(database, 'tidemark.log_1')
      await assert.rejects(tm.publish('work', 1), (error: unknown) => {
        assert.ok(error instanceof DatabaseTimeoutError)
        assert.match(error.message, /Nothing was stored/)
        return true
      })
    }
    await tm.publish('work', 2)
    assert.deepEqual(
      (await tm.admin.browse('work')).messages.map(({ payload }) => payload),
      ['2'],
    )
  })

  it('does not end maintenance, which takes as long as it takes', async () => {
    await using database = await fresh()
    const tm = await database.open({ statementTimeout: '1s', maintenance: false })
    await tm.configureTopic('work')
    await tm.publishBatch('work', range(1, 10))
    const waiting = `
      select count(*)::int as count from pg_stat_activity
      where wait_event_type = 'Lock' and clock_timestamp() - query_start > interval '2 seconds'
        and datname = current_database()`
    await using lock = await locked(database, 'tidemark.partition')
    const run = tm.admin.jobs.messages.runOnce()
    const isWaiting = async () => (await executePostgres(database.url, waiting))[0]?.count !== 0
    const early = run.then(
      () => assert.fail('the job did not wait'),
      error => assert.fail(error),
    )
    await Promise.race([until(isWaiting, { what: 'the job to wait' }), early])
    await lock[Symbol.asyncDispose]()
    early.catch(() => undefined)
    await run
  })
})

const locked = (database: TestDatabase, table: string): Promise<AsyncDisposable> =>
  holding(database, `lock table ${table} in access exclusive mode`)

async function holding(database: TestDatabase, statement: string): Promise<AsyncDisposable> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query(`begin; ${statement}`)
  return { [Symbol.asyncDispose]: () => client.end() }
}

/** Whether somebody waits for a lock. */
async function hasWaiting(database: TestDatabase): Promise<boolean> {
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  return (await executePostgres(database.url, waiting)).length > 0
}

/** The server's processes that listen for wake-ups. */
async function listeners(database: TestDatabase, application: string): Promise<unknown[]> {
  const rows = await executePostgres(
    database.url,
    `select a.pid from pg_stat_activity as a
     where a.datname = current_database() and a.application_name = '${application}'
       and exists (select from pg_locks as l where l.pid = a.pid and l.locktype = 'advisory' and l.mode = 'ShareLock')`,
  )
  return rows.map(({ pid }) => pid)
}

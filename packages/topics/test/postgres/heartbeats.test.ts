import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { until } from '../../../../testing/until.ts'
import { collect, eventsOf, groupOf, happened, payloadsOf, range } from '../../src/conformance/consuming.ts'
import { letDie } from '../../src/conformance/dying.ts'
import { open } from '../../src/index.ts'
import { SHARED_STORES, SILENT } from '../conformance/stores.ts'
import { Network } from './network.ts'

const [postgres] = SHARED_STORES.filter(({ name }) => name === 'PostgreSQL')
const fresh = () => postgres?.fresh() ?? Promise.reject(new Error('There is no PostgreSQL'))

describe('Pitfall 3: a network partition, the consumer alive but unreachable', () => {
  it('is dead while it lasts, and continues where it stopped when it heals', async () => {
    await using database = await fresh()
    await using network = await Network.to(database.url)
    const there = await database.open()
    await there.configureTopic('events', { semantics: 'pub-sub' })
    await using here = await open(network.url, { logger: SILENT })
    const group = here.consumerGroup<number>('events', 'g')
    const deliveries = collect(group)
    await group.start({ heartbeat: { interval: 50, timeout: '5s' } })
    await there.publishBatch('events', [1, 2, 3])
    await until(() => deliveries.length === 3, { what: 'the messages of before' })
    const [back, errors] = [eventsOf(here, 'group-resurrected'), eventsOf(here, 'error')]
    await until(async () => (await groupOf(there, 'events', 'g')).inFlight === 0, { what: 'their acks' })
    network.cut()
    await letDie(there, database, 5_000)
    assert.equal((await groupOf(there, 'events', 'g')).status, 'DEAD')
    await there.publishBatch('events', range(4, 20))
    let isAsked = false
    network.onSent = () => {
      isAsked = true
    }
    await until(() => isAsked, { what: 'something that nobody answers' })
    network.heal()
    await happened(back, 1, 'the group to come back')
    await until(() => deliveries.length === 20, { what: 'the messages of meanwhile' })
    assert.deepEqual(payloadsOf(deliveries), range(1, 20))
    assert.equal(group.running, true)
    await happened(errors, 1, 'what was lost to be told')
    assert.equal((await groupOf(there, 'events', 'g')).epoch, 2)
  })

  it('ends a heartbeat that is never answered, and the next one gets a new connection', async () => {
    await using database = await fresh()
    await using network = await Network.to(database.url)
    await using here = await open(network.url, { logger: SILENT })
    await here.configureTopic('events', { semantics: 'pub-sub' })
    await here.reader('events', { group: 'g', heartbeat: { interval: 50, timeout: '1m' } }).ready()
    await until(() => here.metrics().totals.heartbeats > 0, { what: 'a heartbeat' })
    const errors = eventsOf(here, 'error')
    network.cut()
    await happened(errors, 1, 'the heartbeat to be given up')
    assert.equal(errors[0]?.action, 'heartbeat')
    network.heal()
    const { heartbeats } = here.metrics().totals
    await until(() => here.metrics().totals.heartbeats > heartbeats, { what: 'heartbeats again' })
  })
})

describe('Pitfall 9: the connection pool is exhausted', () => {
  it('does not affect heartbeats, which have their own connection', async () => {
    await using database = await fresh()
    const tm = await database.open({ poolSize: 2 })
    const topics = ['events', 'a', 'b', 'c']
    for (const topic of topics) await tm.configureTopic(topic, { semantics: 'pub-sub' })
    await tm.reader('events', { group: 'g', heartbeat: { interval: 20 } }).ready()
    const blocker = new Client({ connectionString: database.url })
    await blocker.connect()
    try {
      await blocker.query('begin')
      for (const id of [2, 3, 4]) await blocker.query(`lock table tidemark.log_${id} in access exclusive mode`)
      const publishes = ['a', 'b', 'c'].map(topic => tm.publish(topic, 1))
      await until(() => tm.metrics().pool.waiting > 0, { what: 'every connection of the pool to be taken' })
      const { heartbeats } = tm.metrics().totals
      await until(() => tm.metrics().totals.heartbeats >= heartbeats + 5, { what: 'five more heartbeats' })
      assert.equal(tm.metrics().totals.heartbeatFailures, 0)
      assert.ok(tm.metrics().pool.waiting > 0)
      await blocker.query('rollback')
      await Promise.all(publishes)
    } finally {
      await blocker.end()
    }
  })
})

describe('Concern 1: heartbeat write contention', () => {
  it('is one statement per process, updates in place, and no deadlock with claims of the same groups', async () => {
    await using database = await fresh()
    const instances = await Promise.all(range(1, 5).map(() => database.open({ poolSize: 3 })))
    const [first] = instances
    await first?.configureTopic('events', { semantics: 'pub-sub' })
    const errors = instances.map(tm => eventsOf(tm, 'error'))
    const deliveries: unknown[] = []
    for (const [n, tm] of instances.entries()) {
      for (const name of range(1, 10)) {
        const group = tm.consumerGroup('events', `g-${name}`)
        group.addConsumer(`c-${n}`, ({ payload }) => {
          deliveries.push(payload)
        })
        await group.start({ heartbeat: { interval: 30, timeout: '1m' } })
      }
    }
    for (const from of range(0, 9)) await first?.publishBatch('events', range(from * 10 + 1, from * 10 + 10))
    await until(() => deliveries.length === 1_000, { what: 'every group to have every message' })
    const statements = (tm: (typeof instances)[number]) => tm.metrics().latency.heartbeat.count
    const before = instances.map(statements)
    await until(() => instances.every((tm, n) => statements(tm) >= (before[n] ?? 0) + 5), { what: 'five beats each' })
    assert.deepEqual(errors.flat(), [])
    for (const tm of instances) {
      const { totals, latency } = tm.metrics()
      assert.ok(totals.heartbeats > latency.heartbeat.count * 5, 'they go together')
    }
    // The claims of before are among them: on a busy machine a page is full of versions that somebody may still need.
    let share = ''
    await until(
      async () => {
        const [table] = await database.execute({
          sqlite: '',
          postgres: `
            select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables
            where schemaname = 'tidemark' and relname = 'subscription' and n_tup_upd > 300`,
        })
        if (table === undefined) return false
        const { updates, hot } = table as { updates: number; hot: number }
        share = `${hot} of ${updates}`
        return hot > updates * 0.9
      },
      { what: () => `nine of ten updates to touch no index, and not only ${share}` },
    )
  })
})

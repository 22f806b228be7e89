import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { InvalidTransitionError, MessageNotFoundError } from '../../src/errors.ts'
import { messageIdOf } from '../../src/payload/message-id.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import { admin, drain, message, messages, open, request, useServer } from './store-bench.ts'

useServer()

describe('subscribing', () => {
  it('starts where it is told', async () => {
    await using bench = await open()
    const [first] = await bench.store.log.publish(bench.topic, [message(1)])
    await bench.store.log.publish(bench.topic, [message(2, { messageId: 'two' })])
    await delay(5)
    const timestamp = Date.now()
    await delay(5)
    await bench.store.log.publish(bench.topic, [message(3)])
    const starts = {
      now: 'now',
      beginning: 'beginning',
      derived: { messageId: messageIdOf(bench.topic.uid, first?.salt ?? 0, first?.id ?? 0) },
      given: { messageId: 'two' },
      time: { timestamp },
      future: { timestamp: Date.now() + 3_600_000 },
    } as const
    const subscriptions = new Map<string, SubscriptionRecord>()
    for (const [name, from] of Object.entries(starts)) {
      subscriptions.set(name, await bench.store.subscriptions.subscribe(bench.topic, name, from))
    }
    await bench.store.log.publish(bench.topic, [message(4)])
    const expected = {
      now: [4],
      beginning: [1, 2, 3, 4],
      derived: [1, 2, 3, 4],
      given: [2, 3, 4],
      time: [3, 4],
      future: [],
    }
    for (const [name, subscription] of subscriptions) {
      assert.deepEqual(await drain(bench, subscription), expected[name as keyof typeof expected], name)
    }
    const unknown = bench.store.subscriptions.subscribe(bench.topic, 'x', { messageId: 'nowhere' })
    await assert.rejects(unknown, MessageNotFoundError)
  })

  // Only a database that was restored between two statements of one call has another group under this id.
  it('does not restart another group that has its id now', async () => {
    await using bench = await open()
    const { id, uid } = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    const goOn = async (wanted: number) => {
      const text = `select (${bench.functions}.go_on($1, $2, null, null, null, false, null)).id`
      return (await admin.query(text, [id, wanted])).rows
    }
    assert.deepEqual(await goOn(uid + 1), [{ id: null }])
    assert.deepEqual(await goOn(uid), [{ id }])
  })

  it('finds a message that the dedupe table has forgotten', async () => {
    await using bench = await open()
    await bench.store.log.publish(bench.topic, [message(1), message(2, { messageId: 'two' }), message(3)])
    await admin.query(`delete from "${bench.schema}".dedupe`)
    assert.deepEqual(
      await drain(bench, await bench.store.subscriptions.subscribe(bench.topic, 'g', { messageId: 'two' })),
      [2, 3],
    )
  })

  it('never skips, at a start in time, what commits later', async () => {
    await using bench = await open()
    const client = await admin.connect()
    const timestamp = Date.now() - 1_000
    await client.query('begin')
    await bench.store.log.publish(bench.topic, [message('late')], client)
    await bench.store.log.publish(bench.topic, [message('early')])
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', { timestamp })
    await client.query('commit')
    client.release()
    assert.deepEqual((await drain(bench, subscription)).toSorted(), ['early', 'late'])
  })

  it('starts a queue at the beginning, whatever is requested', async () => {
    await using bench = await open({ semantics: 'queue' })
    await bench.store.log.publish(bench.topic, messages(2))
    assert.deepEqual(await drain(bench, await bench.store.subscriptions.subscribe(bench.topic, '', 'now')), [0, 1])
  })

  it('creates one subscription for many calls', async () => {
    await using bench = await open()
    await using other = await open({}, { namespace: bench.namespace })
    const stores = [bench.store, other.store, bench.store, other.store]
    const made = await Promise.all(stores.map(store => store.subscriptions.subscribe(bench.topic, 'g', 'now')))
    assert.equal(new Set(made.map(({ id }) => id)).size, 1)
    assert.equal(made.filter(({ created }) => created).length, 1)
  })

  it('changes status only as allowed', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(1))
    await bench.store.subscriptions.setStatus(bench.topic, subscription, 'PAUSED')
    const paused = await bench.store.leases.claim(request(bench, subscription))
    assert.deepEqual([paused.status, paused.lease], ['PAUSED', null])
    await bench.store.subscriptions.setStatus(bench.topic, subscription, 'ACTIVE')
    await assert.rejects(
      bench.store.subscriptions.setStatus(bench.topic, subscription, 'ACTIVE'),
      InvalidTransitionError,
    )
    await bench.store.subscriptions.setStatus(bench.topic, subscription, 'CANCELLED')
    await assert.rejects(
      bench.store.subscriptions.setStatus(bench.topic, subscription, 'PAUSED'),
      InvalidTransitionError,
    )
    await assert.rejects(bench.store.subscriptions.subscribe(bench.topic, 'g', 'now'), InvalidTransitionError)
    const gone = await bench.store.leases.claim(request(bench, { ...subscription, id: 999_999 }))
    assert.equal(gone.status, 'GONE')
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../../../testing/until.ts'
import {
  ackAll,
  claimLease,
  drain,
  group,
  message,
  messages,
  nack,
  open,
  payloads,
  request,
  settlement,
  useServer,
} from './store-bench.ts'

useServer()

describe('a claim', () => {
  it('gives each message to one of many competing consumers', async () => {
    await using bench = await open()
    await using other = await open({}, { namespace: bench.namespace })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'beginning')
    await bench.store.log.publish(bench.topic, messages(2_000))
    const seen = await Promise.all([bench, other, bench, other].map(store => drain(store, subscription, { limit: 37 })))
    const all = seen.flat().map(Number)
    assert.deepEqual(
      all.toSorted((a, b) => a - b),
      Array.from({ length: 2_000 }, (_, index) => index),
    )
  })

  it('says when the next retry is due or the next lease expires', async () => {
    await using bench = await open({ leaseMs: 60_000 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    assert.equal((await bench.store.leases.claim(request(bench, subscription))).nextDueMs, null)
    await bench.store.log.publish(bench.topic, messages(2))
    const { lease } = await bench.store.leases.claim(request(bench, subscription))
    const { nextDueMs } = await bench.store.leases.claim(request(bench, subscription))
    assert.ok(nextDueMs && nextDueMs > 50_000 && nextDueMs <= 60_000)
    await bench.store.leases.settle([settlement(lease?.token ?? '', { acks: [0], nacks: [nack(1, 5_000)] })])
    const waiting = await bench.store.leases.claim(request(bench, subscription))
    assert.equal(waiting.lease, null)
    assert.ok(waiting.nextDueMs && waiting.nextDueMs > 3_000 && waiting.nextDueMs <= 5_000)
  })

  it('reports a changed configuration', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.topics.configure('topic', { maxAttempts: 9 })
    assert.equal((await bench.store.leases.claim(request(bench, subscription))).configVersion, 2)
  })
})

describe('settling', () => {
  it('is idempotent', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(4))
    const lease = await claimLease(bench, subscription)
    const parts = settlement(lease.token, { acks: [0], nacks: [nack(1, 60_000)] })
    const expected = [{ stale: [], deadLettered: [], finished: false }]
    assert.deepEqual(await bench.store.leases.settle([parts]), expected)
    assert.deepEqual(await bench.store.leases.settle([parts]), expected)
    assert.deepEqual(await bench.store.leases.settle([settlement(lease.token, { nacks: [nack(0)] })]), expected)
    const finished = [{ stale: [], deadLettered: [], finished: true }]
    assert.deepEqual(await bench.store.leases.settle([ackAll(lease)]), finished)
    assert.deepEqual(await bench.store.leases.settle([ackAll(lease)]), finished)
    const { inFlight, retries, backlog } = (await group(bench)) ?? {}
    assert.deepEqual([inFlight, retries, backlog], [0, 1, 0])
  })

  it('settles many leases in one call, whatever their state', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(6))
    const one = await claimLease(bench, subscription, { limit: 2 })
    const two = await claimLease(bench, subscription, { limit: 2 })
    const three = await claimLease(bench, subscription, { limit: 2 })
    const results = await bench.store.leases.settle([
      ackAll(three),
      settlement(one.token, { acks: [0] }),
      ackAll(two),
      settlement(one.token, { acks: [1] }),
      settlement('11111111-1111-4111-8111-111111111111', { size: 3, acks: 'all' }),
    ])
    assert.deepEqual(
      results.map(({ finished, stale }) => [finished, stale]),
      [
        [true, []],
        [false, []],
        [true, []],
        [true, []],
        [true, [0, 1, 2]],
      ],
    )
  })

  it('retries a nacked message until its attempts are used up, then dead-letters it once', async () => {
    await using bench = await open({ maxAttempts: 3 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, [message('bad', { key: 'k', messageId: 'given' }), message('good')])
    const first = await claimLease(bench, subscription)
    await bench.store.leases.settle([settlement(first.token, { maxAttempts: 3, acks: [1], nacks: [nack(0)] })])
    for (const attempt of [2, 3]) {
      const lease = await claimLease(bench, subscription)
      assert.deepEqual([payloads(lease), lease.attempts, lease.versions], [['bad'], [attempt], [attempt]])
      const [result] = await bench.store.leases.settle([settlement(lease.token, { maxAttempts: 3, nacks: [nack(0)] })])
      assert.deepEqual(result?.deadLettered, attempt === 3 ? [0] : [])
    }
    assert.equal((await bench.store.leases.claim(request(bench, subscription))).lease, null)
    const [letter, ...others] = await bench.store.deadLetters.list(bench.topic, { limit: 10, group: 'g' })
    assert.deepEqual(others, [])
    assert.deepEqual(
      [
        letter?.message.payload,
        letter?.message.key,
        letter?.message.messageId,
        letter?.attempts,
        letter?.error.message,
      ],
      ['"bad"', 'k', 'given', 3, 'slot 0'],
    )
    assert.deepEqual(
      letter?.history.map(({ attempt }) => attempt),
      [1, 2, 3],
    )
    assert.deepEqual(await bench.store.deadLetters.list(bench.topic, { limit: 10, after: letter?.id ?? 0 }), [])
    assert.equal((await group(bench))?.deadLetters, 1)
  })

  it('makes released messages available at once without counting the attempt', async () => {
    await using bench = await open({ maxAttempts: 1 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(3))
    const first = await claimLease(bench, subscription)
    await bench.store.leases.settle([settlement(first.token, { acks: [1], releases: [0, 2] })])
    const second = await claimLease(bench, subscription)
    assert.deepEqual([payloads(second), second.attempts, second.suspects], [[0, 2], [1, 1], 'none'])
    await bench.store.leases.settle([settlement(second.token, { acks: [0], releases: [1] })])
    const third = await claimLease(bench, subscription)
    assert.deepEqual([payloads(third), third.attempts, third.versions], [[2], [1], [3]])
    const [result] = await bench.store.leases.settle([settlement(third.token, { maxAttempts: 1, nacks: [nack(0)] })])
    assert.deepEqual(result?.deadLettered, [0])
  })

  it('extends a live lease only', async () => {
    await using bench = await open({ leaseMs: 1_000 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(1))
    const lease = await claimLease(bench, subscription)
    assert.equal(await bench.store.leases.extend(lease.token, 60_000), true)
    const { nextDueMs } = await bench.store.leases.claim(request(bench, subscription))
    assert.ok(nextDueMs && nextDueMs > 50_000)
    await bench.store.leases.settle([ackAll(lease)])
    assert.equal(await bench.store.leases.extend(lease.token, 60_000), false)
  })
})

describe('a lease that expires', () => {
  it('is split: unsettled messages come back as suspects, alone on the last attempt', async () => {
    await using bench = await open({ leaseMs: 30, maxAttempts: 2 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(4))
    const lost = await claimLease(bench, subscription)
    await bench.store.leases.settle([settlement(lost.token, { acks: [1], nacks: [nack(2, 60_000)] })])
    await delay(50)
    const blind = await bench.store.leases.claim(request(bench, subscription, { sweep: false }))
    assert.deepEqual(blind.takeOvers, [])
    const sweep = await bench.store.leases.claim(request(bench, subscription, { suspects: 'none' }))
    const counts = sweep.takeOvers.map(({ consumer, count }) => ({ consumer, count }))
    assert.deepEqual(counts, [{ consumer: 'c-1', count: 2 }])
    assert.deepEqual([sweep.deadLettered, sweep.lease, sweep.waiting], [0, null, 'alone'])
    // Settled slots succeed, the others are stale and change nothing.
    assert.deepEqual(await bench.store.leases.settle([ackAll(lost)]), [
      { stale: [0, 3], deadLettered: [], finished: true },
    ])
    assert.equal(await bench.store.leases.extend(lost.token, 1_000), false)

    await bench.store.topics.configure('topic', { leaseMs: 60_000 })
    const one = await claimLease(bench, subscription)
    const two = await claimLease(bench, subscription)
    assert.deepEqual([one.size, two.size, one.suspects, one.attempts, one.versions], [1, 1, 'alone', [2], [2]])
    assert.deepEqual([...payloads(one), ...payloads(two)].toSorted(), [0, 3])
    await bench.store.leases.settle([ackAll(one), settlement(two.token, { maxAttempts: 2, nacks: [nack(0)] })])
    const [letter] = await bench.store.deadLetters.list(bench.topic, { limit: 1 })
    assert.deepEqual(
      letter?.history.map(({ name }) => name),
      ['LeaseExpiredError', 'Error'],
    )
    assert.match(letter?.history[0]?.message ?? '', /consumer 'c-1' expired/)
  })

  it('ends with the dead letters when nobody ever settles', async () => {
    await using bench = await open({ leaseMs: 10, maxAttempts: 3 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(2))
    const attempts = new Map<unknown, number[]>()
    const step = async () => {
      const { lease } = await bench.store.leases.claim(request(bench, subscription))
      for (const [index, value] of lease ? payloads(lease).entries() : []) {
        attempts.set(value, [...(attempts.get(value) ?? []), lease?.attempts?.[index] ?? 1])
      }
      await delay(10)
      return (await bench.store.deadLetters.list(bench.topic, { limit: 10 })).length === 2
    }
    await until(step, { what: 'both messages to be buried' })
    assert.deepEqual(
      [...attempts.values()],
      [
        [1, 2, 3],
        [1, 2, 3],
      ],
    )
    const described = await group(bench)
    assert.deepEqual([described?.retries, described?.inFlight, described?.deadLetters], [0, 0, 2])
  })

  it('never happens with lease 0', async () => {
    await using bench = await open({ leaseMs: 0 })
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'now')
    await bench.store.log.publish(bench.topic, messages(1))
    await claimLease(bench, subscription)
    const again = await bench.store.leases.claim(request(bench, subscription))
    assert.deepEqual([again.lease, again.nextDueMs], [null, null])
  })
})

describe('a description', () => {
  it('has the right counts', async () => {
    await using bench = await open()
    const subscription = await bench.store.subscriptions.subscribe(bench.topic, 'g', 'beginning')
    await bench.store.log.publish(bench.topic, messages(10))
    const lease = await claimLease(bench, subscription, { limit: 6 })
    await bench.store.leases.settle([settlement(lease.token, { acks: [0, 1], nacks: [nack(2, 60_000)] })])
    const { messagesPublished } = await bench.store.inspection.describe(bench.topic)
    const { backlog, inFlight, retries, status } = (await group(bench)) ?? {}
    assert.deepEqual([messagesPublished, backlog, inFlight, retries, status], [10, 4, 3, 1, 'ACTIVE'])
  })
})

/** What happens around the end of a handler, a lease or a group: stopping, removal, refused extensions, hold-off. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import {
  type Delivery,
  DuplicateConsumerError,
  type HandlerContext,
  StaleDeliveryError,
  StoppedError,
  type Tidemark,
} from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import {
  collect,
  consume,
  eventsOf,
  Gate,
  groupOf,
  happened,
  payloadsOf,
  receive,
  slowValidator,
  soon,
} from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function stopping({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(store.name, () => {
      describe('stop() after its timeout', () => {
        for (const isRemoved of [false, true]) {
          const which = isRemoved ? 'a removed consumer' : 'a consumer'
          it(`aborts the hanging handler of ${which}, and returns its message`, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            const handler = new HangingHandler()
            const group = tm.consumerGroup('work').addConsumer('hung', handler.handle)
            await group.start()
            await tm.publish('work', 1)
            const { delivery, signal } = await handler.begun()
            if (isRemoved) {
              collect(group, 'other')
              group.removeConsumer('hung')
            }
            assert.equal(signal().aborted, false)
            await soon(group.stop({ timeout: 1 }), 'the group to stop')
            assert.ok(signal().reason instanceof StoppedError)
            const again = await receive(tm.reader('work'))
            assert.deepEqual([again.payload, again.attempt, again.version], [1, 2, 2])
            // It is no longer the handler's.
            await assert.rejects(delivery.ack(), StaleDeliveryError)
            await again.ack()
            handler.gate.open()
          })
        }

        it('is told by a signal that was not asked for before', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const handler = new HangingHandler()
          const group = tm.consumerGroup('work').addConsumer('hung', handler.handle)
          await group.start()
          await tm.publish('work', 1)
          const { signal } = await handler.begun()
          await group.stop({ timeout: 1 })
          assert.ok(signal().aborted && signal().reason instanceof StoppedError)
          handler.gate.open()
        })

        it('returns what was not started, and its attempt does not count', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const handler = new HangingHandler()
          const group = tm.consumerGroup('work').addConsumer('hung', handler.handle)
          await group.start()
          await tm.publishBatch('work', [1, 2, 3])
          await handler.begun()
          await group.stop({ timeout: 1 })
          const reader = tm.reader('work', { batchSize: 3 })
          const all = [await receive(reader), await receive(reader), await receive(reader)]
          assert.deepEqual(all.map(({ payload, attempt }) => [payload, attempt]).sort(), [
            [1, 2],
            [2, 1],
            [3, 1],
          ])
          handler.gate.open()
        })

        it('returns a message whose payload is still being validated, and never starts it', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const validator = slowValidator()
          const group = tm.consumerGroup('work', undefined, { schema: validator.schema })
          const started = collect(group)
          await group.start()
          await soon(validator.asked, 'the validator to be asked')
          await soon(group.stop({ timeout: 1 }), 'the group to stop')
          const again = await receive(tm.reader('work'))
          assert.deepEqual([again.payload, again.attempt], [1, 1])
          validator.answer()
          // What the validator answers comes first.
          await new Promise(resolve => setImmediate(resolve))
          assert.deepEqual(started, [])
          await again.ack()
        })

        it('leaves an abandoned handler without a part in what comes later', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const handler = new HangingHandler()
          const group = tm.consumerGroup('work').addConsumer('one', handler.handle)
          await group.start()
          await tm.publish('work', 1)
          await handler.begun()
          await group.stop({ timeout: 1 })
          const acked = eventsOf(tm, 'acked')
          handler.gate.open()
          await new Promise(resolve => setImmediate(resolve))
          assert.deepEqual(acked, [])
          await group.start()
          await happened(acked, 1, 'the second attempt')
          assert.deepEqual(payloadsOf(handler.deliveries), [1, 1])
        })
      })

      describe('stop() during a claim', () => {
        it('returns what the claim brings, and starts none of it', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          const handled = collect(group)
          await group.start()
          const stopped = Promise.withResolvers<void>()
          tm.on('received', () => stopped.resolve(group.stop()))
          await tm.publishBatch('work', [1, 2])
          await soon(stopped.promise, 'the group to stop')
          assert.deepEqual(handled, [])
          const { inFlight } = await groupOf(tm, 'work')
          assert.equal(inFlight, 0)
          const again = await receive(tm.reader('work'))
          assert.deepEqual([again.payload, again.attempt], [1, 1])
        })

        it('returns what was claimed ahead', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2, 3, 4])
          const stopped = Promise.withResolvers<void>()
          const group = tm.consumerGroup('work', undefined, { batchSize: 1 })
          group.addConsumer('one', () => stopped.resolve(group.stop()))
          await group.start()
          await soon(stopped.promise, 'the group to stop')
          const { inFlight } = await groupOf(tm, 'work')
          assert.equal(inFlight, 0)
          const reader = tm.reader('work')
          const next = await receive(reader)
          assert.equal(next.attempt, 1)
          await next.ack()
        })

        it('returns the page whose claim is on its way while the one before is given back', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', [1, 2, 3, 4])
          const stopped = Promise.withResolvers<void>()
          const group = tm.consumerGroup('work', undefined, { batchSize: 1 })
          const handled: unknown[] = []
          group.addConsumer('one', ({ payload }) => handled.push(payload))
          // The group claims ahead before it looks whether it was stopped.
          tm.on('received', () => setImmediate(() => stopped.resolve(group.stop())))
          await group.start()
          await soon(stopped.promise, 'the group to stop')
          const { inFlight, retries } = await groupOf(tm, 'work')
          assert.deepEqual([inFlight, handled], [0, []])
          assert.ok(retries >= 1)
        })
      })

      describe('a pull that is aborted during its claim', () => {
        it('returns nothing, and releases what it claimed', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const stop = new AbortController()
          tm.on('received', () => stop.abort())
          const { receipt, messages } = await tm.pull('work', undefined, { signal: stop.signal })
          assert.deepEqual([receipt, messages], [null, []])
          const again = await receive(tm.reader('work'))
          assert.deepEqual([again.payload, again.attempt], [1, 1])
        })
      })

      describe('pause()', () => {
        it('returns what was not started', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const released = eventsOf(tm, 'released')
          const handler = new HangingHandler()
          const group = tm.consumerGroup('work').addConsumer('hung', handler.handle)
          await group.start()
          await tm.publishBatch('work', [1, 2, 3])
          await handler.begun()
          await group.pause()
          await happened(released, 1, 'the release')
          assert.deepEqual(released, [{ topic: 'work', group: '', count: 2 }])
          assert.equal((await groupOf(tm, 'work')).inFlight, 1)
          handler.gate.open()
        })
      })

      describe('a lease that was taken over', () => {
        it('aborts the signal when its message is claimed again', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const handler = new HangingHandler()
          const group = tm.consumerGroup('work').addConsumer('a', handler.handle)
          await group.start()
          await tm.publish('work', 1)
          const { delivery, signal } = await handler.begun()
          await database.expireLeases()
          await until(() => signal().reason instanceof StaleDeliveryError, { what: 'the next claim' })
          await assert.rejects(delivery.ack(), StaleDeliveryError)
          handler.gate.open()
        })

        it('aborts the signal at once when its extension is refused', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 1 })
          const handler = new HangingHandler()
          const group = tm.consumerGroup('work').addConsumer('a', handler.handle)
          await group.start()
          await tm.publish('work', 1)
          const { delivery, signal } = await handler.begun()
          await releaseAll(tm)
          assert.equal(signal().aborted, false)
          await assert.rejects(delivery.extend('1h'), StaleDeliveryError)
          assert.ok(signal().reason instanceof StaleDeliveryError)
          // Refused without another question.
          await assert.rejects(delivery.extend('1h'), StaleDeliveryError)
          handler.gate.open()
        })

        it('aborts the signals of all its messages when one settlement is stale', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 1 })
          const handler = new HangingHandler()
          const group = tm.consumerGroup('work').addConsumer('a', handler.handle, { concurrency: 2 })
          await group.start()
          await tm.publishBatch('work', [1, 2])
          const [first, second] = [await handler.begun(), await handler.begun(2)]
          await releaseAll(tm)
          await assert.rejects(first.delivery.ack(), StaleDeliveryError)
          assert.ok(second.signal().reason instanceof StaleDeliveryError)
          handler.gate.open()
        })

        it('and was forgotten since is no sign of a database that went back', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const rewound = eventsOf(tm, 'database-rewound')
          await tm.publish('work', 1)
          const reader = tm.reader('work', { lease: '30ms' })
          const delivery = await receive(reader)
          const expired = performance.now() + 40
          await until(() => performance.now() > expired, { what: 'the lease to expire' })
          await database.forgetLeases()
          await assert.rejects(delivery.ack(), StaleDeliveryError)
          await reader.poll(0)
          assert.deepEqual(rewound, [])
        })

        it('delivers no more of its page to a reader after a stale settlement', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.publishBatch('work', [1, 2])
          const reader = here.reader('work', { batchSize: 2 })
          const first = await receive(reader)
          await database.expireLeases()
          const others = [there.reader('work'), there.reader('work')]
          for (const other of others) await receive(other)
          await assert.rejects(first.ack(), StaleDeliveryError)
          assert.equal(await reader.poll(0), null)
        })
      })

      describe('an extended lease', () => {
        it('aborts the signal at its new deadline, not at the old one', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const handler = new HangingHandler()
          // If a busy machine is too late for the extension, there is another attempt.
          await tm.configureTopic('work', { lease: '200ms', maxAttempts: 100 })
          const group = tm.consumerGroup('work').addConsumer('a', async (delivery, context) => {
            const signal = context.signal
            await context.extend('1h')
            return await handler.handle(delivery, { ...context, signal })
          })
          await group.start()
          await tm.publish('work', 1)
          const { delivery, signal } = await handler.begun()
          const oldDeadline = performance.now() + 300
          await until(() => performance.now() > oldDeadline, { what: 'the old deadline to pass' })
          assert.equal(signal().aborted, false)
          await delivery.extend('20ms')
          await until(() => signal().aborted, { what: 'the abort at the new deadline' })
          assert.ok(signal().reason instanceof StaleDeliveryError)
          handler.gate.open()
        })
      })

      describe('messages behind a stuck handler', () => {
        it('are released, and nothing is claimed for half a lease or until the handler ends', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('work', { lease: '1h' })
          const received = eventsOf(here, 'received')
          const released = eventsOf(here, 'released')
          const handler = new HangingHandler()
          const quick: unknown[] = []
          const group = here.consumerGroup<number>('work')
          group.addConsumer('stuck', handler.handle, { filter: ({ payload }) => payload < 10 })
          group.addConsumer('quick', ({ payload }) => quick.push(payload), { filter: ({ payload }) => payload >= 10 })
          await group.start()
          await here.publishBatch('work', [1, 2, 3])
          const { delivery } = await handler.begun()
          // Past half its term: it is checked at the next look, which a lease with a shorter term brings forward.
          await delivery.extend('10m')
          await here.configureTopic('work', { lease: '200ms' })
          await here.publish('work', 10)
          await happened(released, 1, 'the messages to be released')
          assert.deepEqual([released[0]?.count, quick], [2, [10]])
          const before = received.length
          await here.publish('work', 11)
          assert.deepEqual(await consume(there.reader('work'), 3), [2, 3, 11])
          await here.publish('work', 12)
          assert.equal(received.length, before)
          handler.gate.open()
          await until(() => quick.includes(12), { what: 'claims to go on when the handler ends' })
        })
      })

      describe('a claim that fails', () => {
        it('keeps no reservation of a pull', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          let reserved = 0
          const reserve = async () => {
            reserved++
            return { bytes: 1_000, release: () => void reserved-- }
          }
          await tm.pull('work', undefined, { max: 1, wait: 0, reserve })
          await tm.publish('work', 2)
          await using fault = await database.breakDown('claim')
          reserved = 0
          await assert.rejects(tm.pull('work', undefined, { max: 1, reserve }))
          assert.equal(reserved, 0)
          await fault.mend()
        })

        it('does not hold up those that follow, in a topic with a single attempt', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 1 })
          const group = tm.consumerGroup('work')
          const handled = collect(group)
          await group.start()
          const errors = eventsOf(tm, 'error')
          const fault = await database.breakDown('claim')
          await tm.publish('work', 1)
          await until(() => errors.some(({ action }) => action === 'claim'), { what: 'a claim to fail' })
          await fault.mend()
          // What a claim may return is reserved for ten seconds at most.
          await until(() => handled.length === 1, { timeout: 8_000, what: 'the message' })
        })
      })

      describe('a group', () => {
        it('follows a configuration that another process has changed', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('work', { maxAttempts: 5, backoff: { initial: '1h', max: '1h' } })
          const handled: unknown[] = []
          const group = here.consumerGroup('work').addConsumer('a', ({ payload }) => {
            handled.push(payload)
            if (payload === 2) throw new Error('refused')
          })
          await group.start()
          await here.publish('work', 1)
          await happened(handled, 1, 'the first message')
          await there.configureTopic('work', { maxAttempts: 1 })
          await there.publish('work', 2)
          await until(async () => (await there.admin.deadLetters('work')).length === 1, { what: 'the dead letter' })
        })

        it('that fails to start for a duplicate consumer leaves the other ids free', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const first = tm.consumerGroup('work', 'g')
          const second = tm.consumerGroup('work', 'g')
          collect(second, 'a')
          collect(second, 'b')
          collect(first, 'b')
          await first.start()
          await assert.rejects(second.start(), DuplicateConsumerError)
          const third = tm.consumerGroup('work', 'g')
          collect(third, 'a')
          await third.start()
          first.addConsumer('c', () => {})
          first.removeConsumer('b')
          // A removed consumer's id is free as well.
          collect(third, 'b')
        })

        it('that starts while everything is closed does not run', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work')
          const group = tm.consumerGroup('work')
          collect(group)
          const starting = group.start()
          const closing = tm.close()
          await Promise.allSettled([starting, closing])
          assert.equal(group.running, false)
        })

        it('that resumes goes on at once', async () => {
          await using database = await store.fresh()
          const tm = await database.open({ sweepInterval: '1h' })
          const group = tm.consumerGroup('work')
          const handled = collect(group)
          await group.start()
          await group.pause()
          await tm.publish('work', 1)
          await until(async () => group.status === 'PAUSED', { what: 'the group to notice' })
          await group.resume()
          await happened(handled, 1, 'the message')
        })
      })
    })
  }
}

/** Handlers that wait for the test, and what each was given. The signal is read only when a test asks for it. */
class HangingHandler {
  readonly gate = new Gate()
  readonly deliveries: Delivery[] = []
  readonly #contexts: Pick<HandlerContext, 'signal'>[] = []

  readonly handle = async (delivery: Delivery, context: Pick<HandlerContext, 'signal'>): Promise<void> => {
    this.deliveries.push(delivery)
    this.#contexts.push(context)
    await this.gate.passed
  }

  async begun(count = 1): Promise<{ delivery: Delivery; signal: () => AbortSignal }> {
    await happened(this.deliveries, count, 'the handler to begin')
    const [delivery, context] = [this.deliveries[count - 1], this.#contexts[count - 1]]
    assert.ok(delivery && context)
    return { delivery, signal: () => context.signal }
  }
}

/** Without attempts left, the messages don't come again. */
async function releaseAll(tm: Tidemark): Promise<void> {
  for (const { id } of (await tm.admin.claims('work')).claims) await tm.admin.releaseClaim('work', id)
}

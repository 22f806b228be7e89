import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Delivery, type Handler, StaleDeliveryError, type Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { eventsOf, Gate, happened, payloadsOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

const failing: Record<string, [Handler<unknown>, { name: string; message: string }]> = {
  'that throws': [
    () => {
      throw new TypeError('thrown')
    },
    { name: 'TypeError', message: 'thrown' },
  ],
  'that rejects': [
    async () => {
      throw new RangeError('rejected')
    },
    { name: 'RangeError', message: 'rejected' },
  ],
  'that throws no error but a text': [
    () => {
      throw 'plain text'
    },
    { name: 'Error', message: 'plain text' },
  ],
  'that rejects with nothing': [() => Promise.reject(), { name: 'Error', message: 'undefined' }],
}

export function handlers({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a handler', () => {
        for (const [kind, handler] of Object.entries<Handler<unknown>>({
          'that returns': () => 'anything',
          'that resolves': async () => 'anything',
          // biome-ignore lint/suspicious/noThenProperty: a promise of another library.
          'that returns a thenable': () => ({ then: (resolve: (value: unknown) => void) => resolve(1) }),
        })) {
          it(`${kind} acknowledges its message`, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            const group = tm.consumerGroup('work').addConsumer('a', handler)
            await group.start()
            await tm.publishBatch('work', range(1, 3))
            await until(() => tm.metrics().totals.acked === 3, { what: 'three acks' })
            await group.stop()
            assert.equal(await tm.reader('work').poll(0), null)
            assert.equal(tm.metrics().totals.nacked, 0)
          })
        }

        for (const [kind, [handler, error]] of Object.entries(failing)) {
          it(`${kind} is a failed attempt, and the group continues`, async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            await tm.configureTopic('work', { maxAttempts: 2, backoff: { initial: 1, max: 1 } })
            const done: unknown[] = []
            const group = tm.consumerGroup('work')
            group.addConsumer('a', (message, context) => {
              return message.payload === 2 ? handler(message, context) : done.push(message.payload)
            })
            await group.start()
            await tm.publishBatch('work', range(1, 3))
            await until(async () => (await tm.admin.deadLetters('work')).length > 0, { what: 'the dead letter' })
            const [letter] = await tm.admin.deadLetters('work')
            assert.deepEqual([letter?.payload, letter?.attempts, letter?.error], ['2', 2, error])
            assert.deepEqual(done, [1, 3])
            assert.equal(group.running, true)
          })
        }

        it('may settle its message itself', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const attempts: number[] = []
          const group = tm.consumerGroup('work').addConsumer('a', async message => {
            attempts.push(message.attempt)
            if (message.attempt === 1) await message.nack('once more', { delay: 0 })
            else await message.ack()
          })
          await group.start()
          await tm.publish('work', 1)
          await until(() => tm.metrics().totals.acked === 1, { what: 'the ack' })
          assert.deepEqual(attempts, [1, 2])
          assert.equal(tm.metrics().totals.nacked, 1)
        })

        it('is told by its signal that its lease has expired', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          // On a slow machine the lease may expire before the handler starts: then there is another attempt.
          await tm.configureTopic('work', { lease: '100ms', maxAttempts: 100 })
          const reasons: unknown[] = []
          const group = tm.consumerGroup('work').addConsumer('a', async (_, { signal }) => {
            await new Promise(resolve => signal.addEventListener('abort', resolve))
            reasons.push(signal.reason)
          })
          await group.start()
          await tm.publish('work', 1)
          await happened(reasons, 1, 'the signal')
          assert.ok(reasons[0] instanceof StaleDeliveryError)
        })
      })

      describe('sharedPayloads', () => {
        it('gives two groups the same object, frozen to its depths', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const seen: Delivery<{ list: { n: number }[] }>[] = []
          const groups = ['a', 'b'].map(name =>
            tm
              .consumerGroup<{ list: { n: number }[] }>('events', name, { sharedPayloads: true })
              .addConsumer('c', message => void seen.push(message)),
          )
          const [first, second] = groups
          assert.ok(first && second)
          await first.start()
          await second.start()
          // The first group's first look may have begun before there was a second group, and shares nothing.
          await tm.publish('events', { list: [{ n: 0 }] })
          await happened(seen, 2, 'both groups')
          await second.pause()
          await tm.publish('events', { list: [{ n: 1 }] })
          await happened(seen, 3, 'the first group')
          await second.resume()
          await happened(seen, 4, 'the second group')
          const [one, two] = seen.slice(2).map(({ payload }) => payload)
          assert.ok(one && one === two)
          assert.ok(Object.isFrozen(one) && Object.isFrozen(one.list) && Object.isFrozen(one.list[0]))
        })

        it('keeps them while two groups read the topic, and no longer', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const seen: unknown[] = []
          const start = async (name: string) => {
            const group = tm.consumerGroup('events', name, { sharedPayloads: true })
            group.addConsumer('c', ({ payload }) => void seen.push(payload))
            await group.start({ from: 'beginning' })
            return group
          }
          const [first, second] = [await start('a'), await start('b')]
          // The first of them may have been read before there was a second group.
          for (const n of [1, 2]) {
            await tm.publish('events', { n })
            await happened(seen, 2 * n, 'both groups')
          }
          const third = await start('late')
          await happened(seen, 6, 'the late group')
          assert.ok(seen[5] === seen[3], 'from the cache')
          await first.stop()
          await third.stop()
          await start('later')
          await happened(seen, 8, 'the one that came when only one was left')
          assert.ok(seen[7] !== seen[3], 'read anew')
          assert.deepEqual(seen.slice(6), seen.slice(4, 6))
          await second.stop()
        })

        it('is not the default: each group has an object of its own', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const seen: unknown[] = []
          for (const name of ['a', 'b']) {
            const group = tm.consumerGroup<{ n: number }>('events', name)
            group.addConsumer('c', ({ payload }) => {
              payload.n++
              seen.push(payload)
            })
            await group.start()
          }
          await tm.publish('events', { n: 1 })
          await happened(seen, 2, 'both groups')
          assert.deepEqual(seen, [{ n: 2 }, { n: 2 }])
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('autoExtend', () => {
        it('extends the lease while the handler runs, up to its cap', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('work', { lease: '200ms', maxAttempts: 100 })
          const group = here.consumerGroup('work', 'g', { autoExtend: '1s' })
          const gate = new Gate()
          group.addConsumer('slow', () => gate.passed)
          await group.start()
          await here.publish('work', 1)
          await extended(there)
          const taken = await receive(there.reader('work'))
          assert.ok(taken.version >= 2)
          gate.open()
          await taken.ack()
        })

        it('works for a topic that got a lease while the group ran', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('work', { lease: 0 })
          const group = here.consumerGroup('work', 'g', { autoExtend: '1h' })
          const gate = new Gate()
          const begun: Delivery[] = []
          group.addConsumer('slow', async message => {
            begun.push(message)
            if (message.payload === 'slow') await gate.passed
          })
          await group.start()
          await here.configureTopic('work', { lease: '300ms', maxAttempts: 100 })
          await here.publish('work', 'quick')
          await happened(begun, 1, 'the first handler')
          await here.publish('work', 'slow')
          await happened(begun, 2, 'the slow handler')
          await extended(there)
          gate.open()
        })
      })

      describe('extend of the handler’s context', () => {
        it('keeps the lease', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          const gate = new Gate()
          const extensions: unknown[] = []
          const group = here.consumerGroup('work').addConsumer('a', async (message, { extend }) => {
            await database.expireLeases()
            await extend('1h')
            extensions.push(message)
            await gate.passed
          })
          await group.start()
          await here.publish('work', 1)
          await happened(extensions, 1, 'the extension')
          assert.equal(await there.reader('work').poll(0), null)
          gate.open()
        })
      })

      describe('a delivery whose lease expired while it waited', () => {
        it('is never started by a group', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: '1s', maxAttempts: 100 })
          await tm.publishBatch('work', range(1, 40))
          const begun: string[] = []
          const group = tm.consumerGroup('work').addConsumer('slow', ({ payload, version }) => {
            begun.push(`${payload} at version ${version}`)
            if (begun.length !== 30) return
            // The whole process is blocked until the lease has expired: no timer can release anything.
            const term = performance.now() + 1_100
            while (performance.now() < term);
          })
          await group.start()
          for (const payload of range(31, 40)) {
            await until(() => begun.some(each => each.startsWith(`${payload} at`)), { what: `message ${payload}` })
            assert.ok(!begun.includes(`${payload} at version 1`), begun.join(', '))
          }
        })

        it('is never delivered by a reader', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('work', { lease: '200ms' })
          await here.publishBatch('work', [1, 2])
          const first = here.reader('work', { batchSize: 2 })
          await receive(first)
          const [second, third] = [there.reader('work'), there.reader('work')]
          const taken = [await receive(second), await receive(third)]
          assert.deepEqual(payloadsOf(taken).toSorted(), [1, 2])
          await Promise.all(taken.map(delivery => delivery.extend('1h')))
          assert.equal(await first.poll(0), null)
        })
      })

      describe('a group with a short lease', () => {
        it('claims no more than it handles in an eighth of it', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: '1600ms', maxAttempts: 100 })
          await tm.publishBatch('work', range(1, 400))
          const received = eventsOf(tm, 'received')
          const group = tm.consumerGroup('work').addConsumer('steady', async () => {
            await delay(10)
          })
          await group.start()
          await until(() => received.reduce((sum, { count }) => sum + count, 0) > 200, { what: 'some pages' })
          await group.stop({ timeout: 0 })
          // 20 of 10 ms each fit into 200 ms; timers may end a little early.
          assert.ok(
            received.every(({ count }) => count <= 25),
            JSON.stringify(received),
          )
        })
      })

      describe('a handler that hangs', () => {
        it('loses its message, and releases those behind it to others', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('work', { lease: '200ms', maxAttempts: 100 })
          await here.publishBatch('work', [1, 2, 3])
          const gate = new Gate()
          const begun: unknown[] = []
          const group = here.consumerGroup('work').addConsumer('hung', async ({ payload }) => {
            begun.push(payload)
            await gate.passed
          })
          await group.start()
          await happened(begun, 1, 'the handler to hang')
          const reader = there.reader('work')
          const taken = new Set<unknown>()
          await until(
            async () => {
              const delivery = await reader.poll('10ms')
              await delivery?.ack()
              if (delivery) taken.add(delivery.payload)
              return taken.size === 3
            },
            { what: 'another instance to do all three' },
          )
          gate.open()
          assert.deepEqual(begun, [1])
        })
      })
    })
  }
}

/** A busy machine may be too late for one extension: then the message is claimed again, and that claim is extended. */
async function extended(tm: Tidemark): Promise<void> {
  await until(
    async () => {
      const [claim] = (await tm.admin.claims('work')).claims
      return claim?.expiresAt && claim.expiresAt.getTime() - claim.claimedAt.getTime() >= 500
    },
    { what: 'a claim that was extended' },
  )
}

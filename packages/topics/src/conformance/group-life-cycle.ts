import assert from 'node:assert/strict'
import { describe } from 'node:test'
import {
  type ConsumerGroup,
  type Delivery,
  InvalidTransitionError,
  MembershipError,
  SubscriptionGoneError,
  TidemarkError,
} from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, eventsOf, Gate, groupOf, happened, payloadsOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function groupLifeCycle({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('start', () => {
        it('twice, or several times at once, is start once', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const started = eventsOf(tm, 'group-started')
          const group = tm.consumerGroup('work')
          const deliveries = collect(group)
          assert.deepEqual([group.running, group.status], [false, undefined])
          await Promise.all([group.start(), group.start()])
          await group.start()
          assert.deepEqual([group.running, group.status], [true, 'ACTIVE'])
          assert.deepEqual(started, [{ topic: 'work', group: '', created: true, status: 'ACTIVE', skipped: 0 }])
          await tm.publishBatch('work', range(1, 10))
          await until(() => tm.metrics().totals.acked === 10, { what: 'all ten' })
          assert.deepEqual(payloadsOf(deliveries), range(1, 10))
        })

        it('after stop continues where the group was', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          const deliveries = collect(group)
          for (const number of range(1, 3)) {
            await group.start()
            await tm.publish('work', number)
            await happened(deliveries, number, `message ${number}`)
            await group.stop()
            assert.equal(group.running, false)
          }
          assert.deepEqual(payloadsOf(deliveries), [1, 2, 3])
        })
      })

      describe('stop', () => {
        it('before start, twice and concurrently is harmless', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const stopped = eventsOf(tm, 'group-stopped')
          const group = tm.consumerGroup('work')
          collect(group)
          await group.stop()
          await group.start()
          await Promise.all([group.stop(), group.stop()])
          await group.stop()
          assert.deepEqual(stopped, [{ topic: 'work', group: '' }])
        })

        it('waits for the handlers that run, and their acks are stored', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const { group, begun, gate } = slowGroup(tm.consumerGroup('work'))
          await group.start()
          await tm.publish('work', 1)
          await happened(begun, 1, 'the handler')
          let hasStopped = false
          const stopped = group.stop().then(() => {
            hasStopped = true
          })
          const reader = tm.reader('work')
          assert.equal(await reader.poll(0), null)
          assert.equal(hasStopped, false)
          gate.open()
          await stopped
          const { inFlight, retries } = await groupOf(tm, 'work')
          assert.deepEqual({ inFlight, retries }, { inFlight: 0, retries: 0 })
        })

        it('aborts at its deadline the handlers that still run; their messages go to others at once', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          const signals: AbortSignal[] = []
          const gate = new Gate()
          group.addConsumer('deaf', async (_, { signal }) => {
            signals.push(signal)
            await gate.passed
          })
          await group.start()
          await tm.publish('work', 1)
          await happened(signals, 1, 'the handler')
          assert.equal(signals[0]?.aborted, false)
          await group.stop({ timeout: 20 })
          assert.equal(signals[0]?.aborted, true)
          const { reason } = signals[0] as AbortSignal
          assert.ok(reason instanceof TidemarkError)
          assert.equal(reason.code, 'TIDEMARK_STOPPED')
          const reader = tm.reader('work')
          const again = await receive(reader)
          assert.deepEqual([again.attempt, again.version], [2, 2])
          // The result of the handler no longer matters.
          gate.open()
          await again.ack()
          assert.equal(await reader.poll(0), null)
        })

        it('happens with close(), with dispose, and at the end of the owning block', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const stopped = eventsOf(tm, 'group-stopped')
          {
            await using group = tm.consumerGroup('work', 'one')
            collect(group)
            await group.start()
          }
          assert.equal(stopped.length, 1)
          const group = tm.consumerGroup('work', 'two')
          collect(group)
          await group.start()
          await tm.close()
          assert.equal(stopped.length, 2)
          assert.equal(group.running, false)
        })

        it('happens with close() for a group that is just starting', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const errors = eventsOf(tm, 'error')
          const group = tm.consumerGroup('work')
          collect(group)
          const starting = group.start().catch(() => {})
          await tm.close()
          await starting
          assert.equal(group.running, false)
          assert.deepEqual(errors, [])
        })
      })

      describe('pause and resume', () => {
        it('stop a group and let it continue', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          const deliveries = collect(group)
          const [paused, resumed] = [eventsOf(tm, 'group-paused'), eventsOf(tm, 'group-resumed')]
          await group.start()
          await group.pause()
          await tm.publishBatch('work', range(1, 3))
          assert.equal(await tm.reader('work').poll(0), null)
          await until(() => group.status === 'PAUSED', { what: 'the group to notice' })
          assert.deepEqual(deliveries, [])
          await group.resume()
          await happened(deliveries, 3, 'all three')
          assert.equal(group.status, 'ACTIVE')
          assert.deepEqual([paused.length, resumed.length], [1, 1])
        })

        it('last: a paused group that starts again is still paused', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          const deliveries = collect(group)
          await group.start()
          await group.pause()
          await group.stop()
          await group.start()
          assert.equal(group.status, 'PAUSED')
          await tm.publish('work', 1)
          await group.resume()
          await happened(deliveries, 1, 'the message')
        })

        it('release what was not started without counting an attempt, and finish what was', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const { group, begun, gate } = slowGroup(tm.consumerGroup('work'))
          await group.start()
          await tm.publishBatch('work', range(1, 3))
          await happened(begun, 1, 'the first handler')
          await until(async () => (await groupOf(tm, 'work')).inFlight === 3, { what: 'all to be claimed' })
          await group.pause()
          await until(async () => (await groupOf(tm, 'work')).retries === 2, { what: 'two to be given back' })
          gate.open()
          await until(async () => (await groupOf(tm, 'work')).inFlight === 0, { what: 'the first to end' })
          await group.resume()
          await happened(begun, 3, 'the other two')
          assert.deepEqual(
            begun.map(({ payload, attempt, version }) => [payload, attempt, version]),
            [
              [1, 1, 1],
              [2, 1, 2],
              [3, 1, 2],
            ],
          )
        })

        it('are transitions: twice the same is refused', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup('work')
          collect(group)
          await group.start()
          await assert.rejects(group.resume(), InvalidTransitionError)
          await group.pause()
          await assert.rejects(group.pause(), InvalidTransitionError)
        })

        it('need a started group, and so does cancel', async () => {
          await using database = await store.fresh()
          const group = (await database.open()).consumerGroup('work')
          collect(group)
          for (const verb of ['pause', 'resume', 'cancel'] as const) {
            await assert.rejects(group[verb](), (error: unknown) => {
              assert.ok(error instanceof MembershipError)
              assert.match(error.message, /start\(\) first/)
              return true
            })
          }
        })
      })

      describe('cancel', () => {
        it('stops the group and ends its subscription permanently', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const group = tm.consumerGroup('events', 'g')
          collect(group)
          await group.start()
          await group.cancel()
          assert.equal(group.running, false)
          assert.equal((await groupOf(tm, 'events', 'g')).status, 'CANCELLED')
          await assert.rejects(group.start(), (error: unknown) => {
            assert.ok(error instanceof InvalidTransitionError)
            assert.deepEqual([error.from, error.to], ['CANCELLED', 'ACTIVE'])
            assert.match(error.message, /another name/)
            return true
          })
          await assert.rejects(tm.reader('events', { group: 'g' }).receive(), InvalidTransitionError)
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      it('pauses and resumes a group in every instance', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(), await database.open()]
        const [first, second] = [here.consumerGroup('work'), there.consumerGroup('work')]
        const deliveries = [collect(first, 'a'), collect(second, 'b')]
        await first.start()
        await second.start()
        await first.pause()
        await until(() => second.status === 'PAUSED', { what: 'the other instance to notice' })
        await here.publishBatch('work', range(1, 10))
        assert.equal(await there.reader('work').poll(0), null)
        assert.equal(deliveries.flat().length, 0)
        await second.resume()
        await until(() => deliveries.flat().length === 10, { what: 'all ten' })
        await until(() => first.status === 'ACTIVE', { what: 'the first instance to notice' })
      })

      for (const [what, end] of Object.entries({
        cancelled: (group: ConsumerGroup) => group.cancel(),
        removed: (group: ConsumerGroup) => group.stop(),
      })) {
        it(`stops a group whose subscription is ${what} elsewhere, and says why`, async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          const [group, other] = [here.consumerGroup('work'), there.consumerGroup('work')]
          collect(group, 'a')
          collect(other, 'b')
          await group.start()
          await other.start()
          const reader = here.reader('work')
          assert.equal(await reader.poll(0), null)
          const stopped = eventsOf(here, 'group-stopped')
          await end(other)
          if (what === 'removed') {
            await database.removeGroups()
          }
          const [event] = await happened(stopped, 1, 'the group to be stopped')
          assert.ok(event?.reason instanceof SubscriptionGoneError)
          assert.deepEqual([event.reason.topic, event.reason.group], ['work', ''])
          assert.equal(group.running, false)
          await assert.rejects(reader.receive(), SubscriptionGoneError)
          await group.stop()
        })
      }

      it('stops by its deadline even while the database does not answer', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        const group = tm.consumerGroup('work')
        group.addConsumer('a', () => Promise.reject(new Error('again in a second')))
        const nacked = eventsOf(tm, 'nacked')
        await group.start()
        await tm.publish('work', 1)
        await happened(nacked, 1, 'the first attempt')
        await using lock = await database.lock()
        const isWaiting = async () => (await lock.isWaitedFor()) || tm.metrics().pool.waiting > 0
        await until(isWaiting, { what: 'the next claim to wait for the lock' })
        const stopped = { yet: false }
        void group.stop({ timeout: 20 }).then(() => {
          stopped.yet = true
        })
        await until(() => stopped.yet, { what: 'the group to stop' })
      })
    })
  }
}

/** A group whose handlers start and wait for the gate. */
function slowGroup(group: ConsumerGroup): { group: ConsumerGroup; begun: Delivery[]; gate: Gate } {
  const gate = new Gate()
  const begun: Delivery[] = []
  group.addConsumer('slow', async message => {
    begun.push(message)
    await gate.passed
  })
  return { group, begun, gate }
}

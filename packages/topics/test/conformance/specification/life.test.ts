/** The specification's scenarios and pitfalls of groups that come, fall silent, die and come back, each by its name. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  InvalidTransitionError,
  JobBusyError,
  MembershipError,
  NoSubscriptionsError,
  SubscriptionGoneError,
  type Tidemark,
} from 'tidemark'
import { spawnScript } from '../../../../../testing/processes.ts'
import { until } from '../../../../../testing/until.ts'
import { collect, consume, eventsOf, Gate, groupOf, happened, payloadsOf, range, receive } from '../consuming.ts'
import { letDie, MISSES, openStore, TIMEOUT_MS } from '../dying.ts'
import { SECLUDED_STORES, STORES } from '../stores.ts'

const HOUR = 3_600_000

for (const store of STORES) {
  describe(store.name, () => {
    describe('Critical Gap 2: zero-member consumer group life cycle', () => {
      it('Scenario 1: start with zero members fails fast, and subscribes nothing', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup('events', 'analytics')
        await assert.rejects(group.start(), MembershipError)
        assert.deepEqual((await tm.admin.describeTopic('events')).groups, [])
        const deliveries = collect(group)
        await group.start()
        await tm.publish('events', 1)
        await until(() => deliveries.length === 1, { what: 'the message' })
      })

      it('Scenario 2: the last member of a started group can’t be removed', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup<number>('events', 'analytics')
        const deliveries = collect(group, 'consumer-1')
        await group.start()
        assert.throws(() => group.removeConsumer('consumer-1'), MembershipError)
        await tm.publish('events', 1)
        await until(() => deliveries.length === 1, { what: 'the member to go on' })
        await group.stop()
        assert.equal(group.removeConsumer('consumer-1'), true)
      })

      it('Scenario 3: a message that all members filter out counts as processed', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup<number>('events', 'analytics')
        const seen: number[] = []
        for (const id of ['consumer-1', 'consumer-2']) {
          group.addConsumer(id, ({ payload }) => void seen.push(payload), { filter: ({ payload }) => payload > 5 })
        }
        await group.start()
        await tm.publishBatch('events', [3, 6])
        await until(async () => isDone(await groupOf(tm, 'events', 'analytics')), { what: 'both to be done' })
        assert.deepEqual(seen, [6])
        assert.equal(tm.metrics().totals.filtered, 1)
        assert.equal((await groupOf(tm, 'events', 'analytics')).deadLetters, 0)
      })
    })

    describe('Critical Gap 3: consumer group registration timing', () => {
      it('Late registration, strategy 1: what was published before is kept for whoever registers in time', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        await tm.publishBatch('events', [1, 2, 3])
        for (const job of Object.values(tm.admin.jobs)) await job.runOnce()
        assert.deepEqual(await consume(tm.reader('events', { group: 'late', from: 'beginning' }), 3), [1, 2, 3])
      })

      it('Late registration, strategy 2: a publish is blocked until somebody has registered', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub', blockPublishWithoutSubscription: true })
        await assert.rejects(tm.publish('events', 1), NoSubscriptionsError)
        const reader = await tm.reader('events', { group: 'late', from: 'beginning' }).ready()
        await tm.publish('events', 2)
        assert.deepEqual(await consume(reader, 1), [2])
        assert.equal(await reader.poll(0), null)
      })
    })
  })
}

for (const store of SECLUDED_STORES) {
  describe(store.name, () => {
    it('testDeadConsumerGroupDetection', async () => {
      await using database = await store.fresh()
      const tm = await pubSub(await database.open())
      const reader = tm.reader('events', { group: 'test-group', heartbeat: { interval: '2s', timeout: '10s' } })
      await reader.ready()
      await tm.publish('events', 'test')
      const [dead, unsubscribed] = [eventsOf(tm, 'group-dead'), eventsOf(tm, 'topic-unsubscribed')]
      await letDie(tm, database, 10_000)
      assert.equal((await groupOf(tm, 'events', 'test-group')).status, 'DEAD')
      assert.deepEqual([dead[0]?.topic, dead[0]?.group], ['events', 'test-group'])
      assert.deepEqual([unsubscribed[0]?.topic, unsubscribed[0]?.messages], ['events', 1])
    })

    it('testConsumerGroupResurrection', async () => {
      await using database = await store.fresh()
      const tm = await pubSub(await database.open())
      await (await tm.reader('events', { group: 'test-group' }).ready()).close()
      await letDie(tm, database)
      await tm.publishBatch('events', range(1, 100))
      const group = tm.consumerGroup<number>('events', 'test-group')
      const deliveries = collect(group)
      await group.start({ from: 'beginning' })
      await until(() => deliveries.length === 100, { what: 'all hundred' })
      assert.deepEqual(payloadsOf(deliveries), range(1, 100))
      await until(async () => isDone(await groupOf(tm, 'events', 'test-group')), { what: 'all to be settled' })
      assert.equal((await groupOf(tm, 'events', 'test-group')).status, 'ACTIVE')
    })

    describe('Open Question 1: the subscription life cycle state machine', () => {
      it('goes ACTIVE → PAUSED → ACTIVE → DEAD → ACTIVE → CANCELLED, each activation a new epoch', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup('events', 'g')
        collect(group)
        const state = async () => {
          const { status, epoch } = await database.subscription('g')
          return `${status} ${epoch}`
        }
        await group.start({ heartbeat: { interval: '1h', timeout: '5h' } })
        assert.equal(await state(), 'ACTIVE 1')
        await assert.rejects(group.resume(), InvalidTransitionError)
        await group.pause()
        assert.equal(await state(), 'PAUSED 1')
        await assert.rejects(group.pause(), InvalidTransitionError)
        await group.resume()
        assert.equal(await state(), 'ACTIVE 2')
        await group.stop()
        await letDie(tm, database, 5 * HOUR)
        assert.equal(await state(), 'DEAD 2')
        await group.start()
        assert.equal(await state(), 'ACTIVE 3')
        await group.cancel()
        assert.equal(await state(), 'CANCELLED 3')
        await assert.rejects(group.start(), InvalidTransitionError)
        assert.equal(await state(), 'CANCELLED 3')
      })

      it('goes CANCELLED → removed after its retention, and the name begins a new life', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const group = tm.consumerGroup('events', 'g')
        collect(group)
        await group.start()
        await group.cancel()
        await database.passTime(30 * 24 * HOUR)
        assert.equal((await tm.admin.jobs.subscriptions.runOnce()).removed, 1)
        await group.start()
        assert.deepEqual([group.status, Number((await database.subscription('g')).epoch)], ['ACTIVE', 1])
      })
    })

    describe('Pitfall 2: consumer group flapping (restart loop)', () => {
      it('dies though it beats again and again, once between two silences', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const restart = async () => (await tm.reader('events', { group: 'g' }).ready()).close()
        await restart()
        for (let miss = 1; miss <= MISSES; miss++) {
          await database.passTime(TIMEOUT_MS + 1_000)
          await tm.admin.jobs['dead-groups'].runOnce()
          assert.equal(Number((await database.subscription('g')).misses), miss)
          if (miss < MISSES) await restart()
        }
        assert.equal((await groupOf(tm, 'events', 'g')).status, 'DEAD')
      })
    })

    describe('Pitfall 3: network partition, the consumer alive but unreachable', () => {
      it('lives again with its first heartbeat, with what it had in hand and what came meanwhile', async () => {
        await using database = await store.fresh()
        const [here, there] = [await pubSub(await database.open()), await database.open()]
        const gate = new Gate()
        const seen: string[] = []
        const group = here.consumerGroup<number>('events', 'inventory', { batchSize: 1 })
        group.addConsumer('c', async ({ payload, attempt }) => {
          seen.push(`${payload}.${attempt}`)
          await gate.passed
        })
        // It works on and is not heard of: the time of its heartbeats is yet to come.
        await group.start({ heartbeat: { interval: '1h', timeout: '5h' } })
        await here.publish('events', 1)
        await until(() => seen.length === 1, { what: 'the handler to begin' })
        const [dead, back] = [eventsOf(there, 'group-dead'), eventsOf(here, 'group-resurrected')]
        await letDie(there, database, 5 * HOUR)
        assert.equal(dead.length, 1)
        await there.publish('events', 2)
        gate.open()
        await happened(back, 1, 'the group to be heard of again')
        await until(() => seen.includes('2.1'), { what: 'what came meanwhile' })
        await until(async () => isDone(await groupOf(there, 'events', 'inventory')), { what: 'all to be settled' })
        assert.equal((await groupOf(there, 'events', 'inventory')).status, 'ACTIVE')
        // What it did meanwhile counts, unless another took it over.
        assert.ok(seen.includes('1.1') && seen.length <= 3, seen.join())
        assert.equal((await groupOf(there, 'events', 'inventory')).deadLetters, 0)
      })
    })

    describe('Pitfall 4: clock skew between application and database', () => {
      for (const skewMs of [-2 * HOUR, 2 * HOUR]) {
        it(`changes nothing when the consumer’s clock is ${skewMs / HOUR} hours off`, async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open(), { lease: '1h', retention: '1h' })
          const script = new URL('../../crash/scripts/beating-consumer.ts', import.meta.url)
          const skew = `const now = Date.now; Date.now = () => now() + ${skewMs}`
          await using consumer = spawnScript(
            script,
            [JSON.stringify({ url: database.url, topic: 'events', group: 'g', hold: true })],
            { nodeFlags: [`--import=data:text/javascript,${encodeURIComponent(skew)}`] },
          )
          await consumer.waitForLine('started')
          await tm.publish('events', 1)
          await consumer.waitForLine('got 1 attempt 1')
          const before = timeOf((await database.subscription('g')).last_heartbeat_at)
          await until(async () => timeOf((await database.subscription('g')).last_heartbeat_at) > before, {
            what: 'a heartbeat',
          })
          const { last_heartbeat_at } = await database.subscription('g')
          assert.ok(Math.abs(timeOf(last_heartbeat_at) - Date.now()) < 60_000, 'by the database’s clock')
          assert.deepEqual(await tm.admin.jobs['dead-groups'].runOnce(), {
            missed: 0,
            dead: 0,
            unsubscribed: 0,
            bitsCleared: 0,
          })
          // Its lease holds: nobody else is given the message.
          assert.equal(await tm.reader('events', { group: 'g' }).poll(0), null)
          consumer.send({ release: true })
          await until(async () => isDone(await groupOf(tm, 'events', 'g')), { what: 'the ack' })
          assert.deepEqual(
            consumer.lines.filter(line => line.startsWith('got')),
            ['got 1 attempt 1'],
          )
        })
      }
    })

    describe('Pitfall 5: the clean-up job itself crashes mid-execution', () => {
      it('leaves groups that are dead once, and the next run goes on', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        for (const n of range(1, 5)) await (await tm.reader('events', { group: `g-${n}` }).ready()).close()
        for (let miss = 1; miss < MISSES; miss++) {
          await database.passTime(TIMEOUT_MS + 1_000)
          await tm.admin.jobs['dead-groups'].runOnce()
        }
        await database.passTime(TIMEOUT_MS + 1_000)
        await using killed = spawnScript(new URL('../scripts/detect-and-die.ts', import.meta.url), [database.url])
        assert.equal((await killed.exited).signal, 'SIGKILL')
        const states = async () => (await tm.admin.describeTopic('events')).groups.map(({ status }) => status)
        assert.deepEqual(
          await states(),
          range(1, 5).map(() => 'DEAD'),
        )
        // Its lock outlives it, for a while.
        await assert.rejects(tm.admin.jobs['dead-groups'].runOnce(), JobBusyError)
        await database.execute({
          sqlite: 'update tidemark_job set locked_until = 1',
          postgres: "update tidemark.job set locked_until = timestamptz '2000-01-01'",
        })
        assert.equal((await tm.admin.jobs['dead-groups'].runOnce()).dead, 0)
        for (const n of range(1, 5)) {
          const { misses, epoch } = await database.subscription(`g-${n}`)
          assert.deepEqual([Number(misses), Number(epoch)], [MISSES, 1])
        }
      })
    })

    describe('Pitfall 8: a subscription is deleted while messages are in flight', () => {
      it('stops the consumer, whose late ack is stale, and leaves nothing behind', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const admin = await openStore(database)
        try {
          const gate = new Gate()
          const group = tm.consumerGroup('events', 'inventory')
          let begun = 0
          group.addConsumer('c', async () => {
            begun++
            await gate.passed
          })
          await group.start({ heartbeat: { interval: 20 } })
          const reader = tm.reader('events', { group: 'inventory' })
          await tm.publish('events', 1)
          await until(() => begun === 1, { what: 'a message in flight' })
          const [stopped, stale] = [eventsOf(tm, 'group-stopped'), eventsOf(tm, 'stale')]
          const topic = await admin.topics.find('events')
          assert.ok(topic)
          const subscription = await admin.subscriptions.find(topic, 'inventory')
          assert.ok(subscription)
          await admin.subscriptions.setStatus(topic, subscription, 'CANCELLED')
          await admin.subscriptions.remove(topic, subscription)
          await until(() => !group.running, { what: 'the consumer to be stopped' })
          gate.open()
          const [event] = await happened(stopped, 1, 'the consumer to have stopped')
          assert.ok(event?.reason instanceof SubscriptionGoneError)
          await happened(stale, 1, 'the late ack')
          await assert.rejects(reader.receive(), SubscriptionGoneError)
          assert.deepEqual((await tm.admin.describeTopic('events')).groups, [])
          const again = tm.reader('events', { group: 'inventory', from: 'beginning' })
          await (await receive(again)).ack()
        } finally {
          await admin.close()
        }
      })
    })
  })
}

async function pubSub(tm: Tidemark, more = {}): Promise<Tidemark> {
  await tm.configureTopic('events', { semantics: 'pub-sub', ...more })
  return tm
}

const isDone = ({ backlog, inFlight, retries }: { backlog: number; inFlight: number; retries: number }): boolean =>
  backlog + inFlight + retries === 0

const timeOf = (stored: unknown): number => (stored instanceof Date ? stored.getTime() : Number(stored))

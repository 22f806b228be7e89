import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { JobBusyError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, eventsOf, Gate, groupOf, happened, isDone, payloadsOf, pubSub, range } from './consuming.ts'
import { letDie, MISSES, TIMEOUT_MS } from './dying.ts'
import { it } from './it.ts'
import { spawn } from './spawn.ts'
import { until } from './until.ts'

const HOUR = 3_600_000

export function groupDeath({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`a dead group on ${store.name}`, () => {
      it('is found by its silence, and topics without a subscription are reported', async () => {
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

      it('comes back where it stopped', async () => {
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
    })

    describe(`a group that restarts again and again on ${store.name}`, () => {
      it('dies even if it sends a heartbeat between two silences', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const restart = async () => (await tm.reader('events', { group: 'g' }).ready()).close()
        await restart()
        for (let miss = 1; miss <= MISSES; miss++) {
          await database.ageGroups(TIMEOUT_MS + 1_000)
          await tm.admin.jobs['dead-groups'].runOnce()
          assert.equal((await groupOf(tm, 'events', 'g')).heartbeat.misses, miss)
          if (miss < MISSES) await restart()
        }
        assert.equal((await groupOf(tm, 'events', 'g')).status, 'DEAD')
      })
    })

    describe(`a consumer that is alive and unreachable on ${store.name}`, () => {
      it('is resurrected by its first heartbeat, with what it held and what came meanwhile', async () => {
        await using database = await store.fresh()
        const [here, there] = [await pubSub(await database.open()), await database.open()]
        const gate = new Gate()
        const seen: string[] = []
        const group = here.consumerGroup<number>('events', 'inventory', { batchSize: 1 })
        group.addConsumer('c', async ({ payload, attempt }) => {
          seen.push(`${payload}.${attempt}`)
          await gate.passed
        })
        // It works but is silent: its heartbeats are not due yet.
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
        // What it did meanwhile counts, unless another consumer took it over.
        assert.ok(seen.includes('1.1') && seen.length <= 3, seen.join())
        assert.equal((await groupOf(there, 'events', 'inventory')).deadLetters, 0)
      })
    })

    describe(`a detection of dead groups that is killed on ${store.name}`, () => {
      it('leaves groups marked dead once, and the next run continues', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        for (const n of range(1, 5)) await (await tm.reader('events', { group: `g-${n}` }).ready()).close()
        for (let miss = 1; miss < MISSES; miss++) {
          await database.ageGroups(TIMEOUT_MS + 1_000)
          await tm.admin.jobs['dead-groups'].runOnce()
        }
        await database.ageGroups(TIMEOUT_MS + 1_000)
        await using killed = spawn(store, 'detect-and-die', [database.url])
        assert.equal((await killed.exited).signal, 'SIGKILL')
        const states = async () => (await tm.admin.describeTopic('events')).groups.map(({ status }) => status)
        assert.deepEqual(
          await states(),
          range(1, 5).map(() => 'DEAD'),
        )
        // Its lock outlives it for a while.
        await assert.rejects(tm.admin.jobs['dead-groups'].runOnce(), JobBusyError)
        await database.ageJobs(24 * 3_600_000)
        assert.equal((await tm.admin.jobs['dead-groups'].runOnce()).dead, 0)
        for (const n of range(1, 5)) {
          const { heartbeat, epoch } = await groupOf(tm, 'events', `g-${n}`)
          assert.deepEqual([heartbeat.misses, epoch], [MISSES, 1])
        }
      })
    })
  }
}

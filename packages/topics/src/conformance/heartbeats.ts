import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { HeartbeatError, SubscriptionGoneError, type Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, eventsOf, Gate, groupOf, happened, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function heartbeats({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('the heartbeats of one process', () => {
        it('are sent in one statement for all its groups and readers', async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open())
          const groups = range(1, 8).map(n => tm.consumerGroup('events', `g-${n}`))
          for (const group of groups) collect(group)
          await Promise.all(groups.map(group => group.start({ heartbeat: { interval: 20 } })))
          await tm.reader('events', { group: 'g-1', heartbeat: { interval: 20 } }).ready()
          await tm.reader('events', { group: 'g-9', heartbeat: { interval: 20 } }).ready()
          let before = beatsOf(tm)
          // On a busy machine a statement takes longer than this interval, so heartbeats that began apart meet later.
          await until(
            () => {
              const [last, now] = [before, beatsOf(tm)]
              before = now
              return (
                now.statements > last.statements && now.beats - last.beats === 9 * (now.statements - last.statements)
              )
            },
            { what: 'them to have met' },
          )
          await until(() => beatsOf(tm).statements >= before.statements + 10, { what: 'ten more statements' })
          const after = beatsOf(tm)
          assert.equal(after.beats - before.beats, 9 * (after.statements - before.statements))
        })

        it('are sent at each subscription’s own interval', async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open())
          await tm.reader('events', { group: 'quick', heartbeat: { interval: 10 } }).ready()
          await tm.reader('events', { group: 'slow', heartbeat: { interval: '1h', timeout: '2h' } }).ready()
          const beats = (group: string) => tm.metrics().topics.events?.groups[group]?.totals.heartbeats ?? 0
          await until(() => beats('quick') >= 10, { what: 'ten heartbeats' })
          assert.equal(beats('slow'), 0)
        })

        it('end with the group', async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open())
          const group = tm.consumerGroup('events', 'g')
          collect(group)
          await group.start({ heartbeat: { interval: 10 } })
          const other = await tm.reader('events', { group: 'other', heartbeat: { interval: 10 } }).ready()
          await until(() => beatsOf(tm).beats >= 4, { what: 'heartbeats' })
          await group.stop()
          const beats = () => tm.metrics().topics.events?.groups.g?.totals.heartbeats
          const last = beats()
          const { statements } = beatsOf(tm)
          await until(() => beatsOf(tm).statements > statements + 3, { what: 'heartbeats of the other' })
          assert.equal(beats(), last)
          await other.close()
        })

        it('continue while a pull waits, although another pull fails', async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open())
          const reader = await tm.reader('events', { group: 'g', heartbeat: { interval: 10 } }).ready()
          await reader.close()
          const ending = new AbortController()
          const waiting = tm.pull('events', 'g', { wait: '1h', signal: ending.signal })
          const beats = () => tm.metrics().topics.events?.groups.g?.totals.heartbeats ?? 0
          const more = async (count: number) => {
            const before = beats()
            await until(() => beats() >= before + count, { what: 'more heartbeats' })
          }
          await more(10)
          const noMemory = () => Promise.reject(new Error('no memory'))
          await assert.rejects(tm.pull('events', 'g', { reserve: noMemory }), /no memory/)
          await more(10)
          ending.abort()
          assert.equal((await waiting).receipt, null)
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      it('reports what the group has counted, and the rest when it stops', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open(), { backoff: { initial: '1h', max: '1h' } })
        const group = tm.consumerGroup<number>('events', 'g', { filter: ({ payload }) => payload <= 8 })
        group.addConsumer('c', ({ payload }) => {
          if (payload === 8) throw new Error('it is eight')
        })
        await group.start({ heartbeat: { interval: 20 } })
        await tm.publishBatch('events', range(1, 10))
        const counted = async () => countsOf(await groupOf(tm, 'events', 'g'))
        await until(async () => (await counted()).processed === 9, { what: 'the counts to arrive' })
        assert.deepEqual(await counted(), { processed: 9, failed: 1, filtered: 2 })
        await group.stop()
        const last = tm.consumerGroup<number>('events', 'g')
        const deliveries = collect(last)
        await last.start({ heartbeat: { interval: '1h', timeout: '2h' } })
        await tm.publishBatch('events', range(11, 15))
        await until(() => deliveries.length === 5, { what: 'five more' })
        await last.stop()
        assert.deepEqual(await counted(), { processed: 14, failed: 1, filtered: 2 })
      })

      describe('a group that claims nothing because its handler is busy', () => {
        for (const what of ['removed', 'cancelled'] as const) {
          it(`stops by its heartbeat when its subscription is ${what} elsewhere`, async () => {
            await using database = await store.fresh()
            const tm = await pubSub(await database.open({ sweepInterval: '1h' }))
            const gate = new Gate()
            const group = tm.consumerGroup('events', 'g', { batchSize: 1 })
            let begun = 0
            group.addConsumer('c', async () => {
              begun++
              await gate.passed
            })
            await group.start({ heartbeat: { interval: 20 } })
            await tm.publishBatch('events', [1, 2, 3])
            await until(() => begun === 1, { what: 'the handler to begin' })
            const claims = () => tm.metrics().totals.claims
            const stopped = eventsOf(tm, 'group-stopped')
            await until(() => claims() > 0 && beatsOf(tm).beats > 2, { what: 'a quiet moment' })
            if (what === 'removed') await database.removeGroups()
            else await database.setStatus('g', 'CANCELLED')
            await until(() => !group.running, { what: 'the group to notice' })
            gate.open()
            const [event] = await happened(stopped, 1, 'the group to have stopped')
            assert.ok(event?.reason instanceof SubscriptionGoneError)
          })
        }
      })

      describe('heartbeats that fail', () => {
        it('are retried, each failure an event, and the group continues when they succeed again', async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open())
          const group = tm.consumerGroup('events', 'g')
          const deliveries = collect(group)
          await group.start({ heartbeat: { interval: 40, timeout: '1m' } })
          const errors = eventsOf(tm, 'error')
          await using broken = await database.breakDown('heartbeat')
          await tm.publishBatch('events', [1, 2])
          await happened(errors, 2, 'two failures')
          assert.deepEqual([errors[0]?.action, errors[0]?.group], ['heartbeat', 'g'])
          await broken.mend()
          const { beats } = beatsOf(tm)
          await until(() => beatsOf(tm).beats > beats + 1, { what: 'heartbeats again' })
          assert.equal(group.running, true)
          assert.ok(tm.metrics().totals.heartbeatFailures >= 2)
          await until(() => deliveries.length === 2, { what: 'both messages' })
          await until(async () => countsOf(await groupOf(tm, 'events', 'g')).processed === 2, {
            what: 'what was counted meanwhile',
          })
        })

        it('suspend the group after ten in a row: it claims nothing, reports it, and continues by itself', async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open())
          const group = tm.consumerGroup<number>('events', 'g')
          const deliveries = collect(group)
          await group.start({ heartbeat: { interval: 20 } })
          const reader = await tm.reader<number>('events', { group: 'r', heartbeat: { interval: 20 } }).ready()
          const [stopped, suspended] = [eventsOf(tm, 'group-stopped'), eventsOf(tm, 'group-suspended')]
          const recovered = eventsOf(tm, 'group-recovered')
          await using broken = await database.breakDown('heartbeat')
          await happened(suspended, 2, 'both to be suspended')
          const event = suspended.find(each => each.group === 'g')
          assert.ok(event?.error instanceof HeartbeatError)
          assert.equal(event.error.failures, 10)
          assert.match(event.error.message, /resumes with the next successful heartbeat/)
          const { heartbeatFailures } = tm.metrics().totals
          await tm.publishBatch('events', [1, 2, 3])
          const waiting = receive(reader)
          waiting.catch(() => undefined) // Report the first failure, not the timeout that it causes.
          await until(() => tm.metrics().totals.heartbeatFailures > heartbeatFailures + 20, { what: 'more failures' })
          assert.deepEqual(
            [deliveries.length, suspended.length, stopped.length],
            [0, 2, 0],
            'once, and it claims nothing',
          )
          assert.equal(group.running, true)
          const { healthy, failing } = await tm.admin.health()
          assert.deepEqual([healthy, failing.map(each => each.group).toSorted()], [false, ['g', 'r']])
          assert.equal(failing[0]?.lastError?.name, 'HeartbeatError')
          const [health] = (await tm.admin.groups('events')).filter(each => each.group === 'g')
          assert.equal(health?.healthy, false)
          await broken.mend()
          await happened(recovered, 2, 'both to go on')
          await until(() => deliveries.length === 3, { what: 'the messages of meanwhile' })
          await (await waiting).ack()
          assert.deepEqual([group.running, stopped.length], [true, 0])
          await until(async () => (await tm.admin.health()).failing.length === 0, { what: 'health to say so' })
        })

        it('keep their pace while claims find the group dead', async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open())
          const group = tm.consumerGroup('events', 'g')
          collect(group)
          await group.start({ heartbeat: { interval: '1m', timeout: '10m' } })
          await using _ = await database.breakDown('heartbeat')
          await database.setStatus('g', 'DEAD')
          const startedAt = performance.now()
          const { totals: before } = tm.metrics()
          await until(
            async () => {
              await tm.publish('events', 1)
              const { claims, heartbeatFailures } = tm.metrics().totals
              return claims > before.claims + 20 && heartbeatFailures > before.heartbeatFailures
            },
            { what: 'claims, and a heartbeat that they hurried' },
          )
          // The first claim hurries the first heartbeat; the next ones follow after a second or more.
          const most = 1 + Math.ceil((performance.now() - startedAt) / 800)
          const failures = tm.metrics().totals.heartbeatFailures - before.heartbeatFailures
          assert.ok(failures <= most, `${failures} failures, at most ${most}`)
        })

        it('end the group when its subscription turns out to be gone', async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open())
          const group = tm.consumerGroup('events', 'g')
          collect(group)
          await group.start({ heartbeat: { interval: 20 } })
          const [stopped, suspended] = [eventsOf(tm, 'group-stopped'), eventsOf(tm, 'group-suspended')]
          await using broken = await database.breakDown('heartbeat')
          await happened(suspended, 1, 'it to be suspended')
          await database.setStatus('g', 'CANCELLED')
          await broken.mend()
          const [event] = await happened(stopped, 1, 'the group to stop')
          assert.ok(event?.reason instanceof SubscriptionGoneError)
        })

        it('do not affect a queue, whose only group never dies', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const group = tm.consumerGroup<number>('work')
          const deliveries = collect(group)
          await group.start({ heartbeat: { interval: 10 } })
          await using _ = await database.breakDown('heartbeat')
          await until(() => tm.metrics().totals.heartbeatFailures > 20, { what: 'failures' })
          await tm.publish('work', 1)
          await until(() => deliveries.length === 1, { what: 'the message' })
        })
      })

      it('keeps a reader that only waits alive', async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open())
        const reader = await tm.reader('events', { group: 'g', heartbeat: { interval: 20 } }).ready()
        await database.ageGroups(3_600_000)
        const { beats } = beatsOf(tm)
        await until(() => beatsOf(tm).beats > beats + 1, { what: 'a heartbeat' })
        assert.equal((await tm.admin.jobs['dead-groups'].runOnce()).missed, 0)
        await tm.publish('events', 1)
        await (await receive(reader)).ack()
      })
    })
  }
}

async function pubSub(tm: Tidemark, more = {}): Promise<Tidemark> {
  await tm.configureTopic('events', { semantics: 'pub-sub', ...more })
  return tm
}

const beatsOf = (tm: Tidemark) => {
  const { totals, latency } = tm.metrics()
  return { beats: totals.heartbeats, statements: latency.heartbeat.count }
}

const countsOf = ({ processed, failed, filtered }: Awaited<ReturnType<typeof groupOf>>) => ({
  processed,
  failed,
  filtered,
})

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe } from 'node:test'
import { BackfillRunner } from '../backfill/backfill-runner.ts'
import { ConfigError } from '../index.ts'
import { BackfillTakeOver } from '../maintenance/backfill-take-over.ts'
import { Instrumentation } from '../observe/instrumentation.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { collect, consume, eventsOf, happened, payloadsOf, range } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { SILENT } from './test-database.ts'
import { until } from './until.ts'

const REFERENCE = { semantics: 'pub-sub', tracking: 'reference' } as const

export function backfill({ stores, secluded }: ConformanceStores): void {
  for (const engine of stores) {
    describe(engine.name, needs(engine, 'tracking'), () => {
      describe('a group that starts late in a reference topic', () => {
        it('has its backfill done when start() returns, and gets everything', async () => {
          await using database = await engine.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', REFERENCE)
          await tm.publishBatch('events', range(1, 250))
          const progress = eventsOf(tm, 'backfill-progress')
          const ended = eventsOf(tm, 'backfill-ended')
          const group = tm.consumerGroup<number>('events', 'late')
          const deliveries = collect(group)
          await group.start({ from: 'beginning', backfill: { batchSize: 100, targetLatency: '10s' } })
          const where = { topic: 'events', group: 'late' }
          assert.deepEqual(ended, [{ ...where, status: 'COMPLETED', processed: 250 }])
          const { done, total, etaMs } = progress.at(-1) ?? {}
          assert.deepEqual({ done, total, etaMs }, { done: 250, total: 250, etaMs: 0 })
          await tm.publish('events', 251)
          await happened(deliveries, 251, 'all')
          assert.deepEqual(
            payloadsOf(deliveries).sort((a, b) => a - b),
            range(1, 251),
          )
          assert.ok(deliveries.every(({ attempt, version }) => attempt === 1 && version === 1))
        })

        it('gets no earlier messages without a backfill', async () => {
          await using database = await engine.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', REFERENCE)
          await tm.publish('events', 'before')
          const group = tm.consumerGroup('events', 'late')
          const deliveries = collect(group)
          await group.start({ from: 'beginning', backfill: false })
          await tm.publish('events', 'after')
          await happened(deliveries, 1, 'the message after')
          assert.deepEqual(payloadsOf(deliveries), ['after'])
        })

        it('may be a reader', async () => {
          await using database = await engine.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', REFERENCE)
          const [, second] = await tm.publishBatch('events', range(1, 5))
          const reader = tm.reader<number>('events', { group: 'late', from: { messageId: second?.messageId ?? '' } })
          assert.deepEqual(await consume(reader, 4), range(2, 5))
          assert.equal(await reader.poll(0), null)
        })

        it('is not waited for if its rate makes it last', async () => {
          await using database = await engine.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', REFERENCE)
          await tm.publishBatch('events', range(1, 8))
          const slowly = { batchSize: 1, maxPerSecond: 1 }
          const reader = tm.reader<number>('events', { group: 'late', from: 'beginning', backfill: slowly })
          assert.equal((await reader.poll('20s'))?.payload, 1)
          assert.equal((await tm.admin.backfill('events', 'late'))?.status, 'RUNNING')
        })

        it('retries what failed, like any other message', async () => {
          await using database = await engine.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { ...REFERENCE, maxAttempts: 2, backoff: { initial: 1 } })
          await tm.publishBatch('events', range(1, 3))
          const group = tm.consumerGroup<number>('events', 'late')
          const attempts: number[] = []
          group.addConsumer('c', ({ payload, attempt }) => {
            if (payload !== 2) return
            attempts.push(attempt)
            throw new Error('not this one')
          })
          const dead = eventsOf(tm, 'dead-lettered')
          await group.start({ from: 'beginning' })
          await happened(dead, 1, 'the dead letter')
          assert.deepEqual(attempts, [1, 2])
        })

        for (const [backfill, option] of [
          [true, 'start.backfill'],
          [{ preset: 'fast' }, 'start.backfill.preset'],
          [{ scope: 'some' }, 'start.backfill.scope'],
          [{ batchSize: 0 }, 'start.backfill.batchSize'],
          [{ maxMessages: -1 }, 'start.backfill.maxMessages'],
          [{ size: 1 }, 'start.backfill.size'],
        ] as const) {
          it(`is refused the option ${JSON.stringify(backfill)}`, async () => {
            await using database = await engine.fresh()
            const tm = await database.open()
            const group = tm.consumerGroup('events', 'late')
            collect(group)
            const start = group.start({ backfill } as never)
            await assert.rejects(start, (error: Error) => error instanceof ConfigError && error.option === option)
          })
        }
      })
    })
  }

  for (const engine of secluded) {
    describe(`a backfill of more than 100 000 messages, on ${engine.name}`, needs(engine, 'tracking'), () => {
      it('runs in the background, and the job of another process finishes what a closed one left', async () => {
        await using database = await engine.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', REFERENCE)
        for (let page = 0; page < 5; page++) await tm.publishBatch('events', new Array(20_020).fill(page))
        const group = tm.consumerGroup('events', 'late', { batchSize: 1_000 })
        group.addConsumer('c', () => {})
        await group.start({ from: 'beginning', backfill: { maxPerSecond: 40_000, targetLatency: '10s' } })
        await tm.close()

        await using store = await openStore(database)
        const topic = await store.topics.find('events')
        assert.ok(topic)
        const subscription = await store.subscriptions.subscribe(topic, 'late', 'now')
        const left = await store.backfills.find(subscription)
        assert.equal(left?.status, 'RUNNING')
        assert.ok((left?.checkpointId ?? 0) < 100_100)
        Object.assign(store.topics, { list: async () => [topic] })
        const instrumentation = new Instrumentation(SILENT)
        const job = new BackfillTakeOver(store, new BackfillRunner({ store, instrumentation, wake() {} }), 60_000)
        const context = { renew: async () => {}, signal: new AbortController().signal }
        // Nobody has to wait until the lease of 30 seconds expires.
        await until(() => store.backfills.take(randomUUID(), 0, subscription), {
          ...{ what: 'the backfill to be free at once', timeout: 20_000 },
        })
        const result = await until(
          async () => {
            const ran = await job.run(context)
            return ran.completed === 1 && ran
          },
          { what: 'the lease to be free' },
        )
        assert.deepEqual(result, { filledPages: 0, takenOver: 1, completed: 1 })
        const finished = await store.backfills.find(subscription)
        assert.equal(finished?.processed, 100_100)
      })
    })
  }
}

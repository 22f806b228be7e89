/** Compares reported figures of groups and consumers with what really happened. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tidemark } from '../index.ts'
import { type ConformanceStores, needsTracking } from './conformance-store.ts'
import { range } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

const COUNT = 60
const SLOW_MS = 120

export function figures({ stores }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      for (const tracking of ['offset', 'reference'] as const) {
        it(
          `match what happened to two groups with failures, a reset and a backfill, tracked by ${tracking}`,
          needsTracking(store, tracking),
          async () => {
            await using database = await store.fresh()
            const tm = await database.open({ maintenance: false })
            await tm.configureTopic('events', {
              ...{ semantics: 'pub-sub', tracking, retention: 'forever', maxAttempts: 2 },
              backoff: { initial: '1h' },
            })
            const email = tm.consumerGroup<number>('events', 'email', { batchSize: 10 })
            const did = { odd: { processed: 0, failed: 0 }, even: { processed: 0, failed: 0 } }
            const began = Date.now()
            for (const [name, rest] of [
              ['odd', 1],
              ['even', 0],
            ] as const) {
              const handle = async ({ payload }: { payload: number }) => {
                if (payload === 21 || payload === 22) await sleep(SLOW_MS)
                if (payload % 10 < 2) {
                  did[name].failed++
                  throw new RangeError(`message ${payload}`)
                }
                did[name].processed++
              }
              email.addConsumer(name, handle, { filter: ({ payload }) => payload % 2 === rest })
            }
            await email.start()
            const audit = tm.consumerGroup<number>('events', 'audit', { batchSize: 10 })
            audit.addConsumer('all', () => undefined)
            await audit.start()
            await tm.publishBatch('events', range(1, COUNT))
            await until(() => settled(tm, 'email') === COUNT && settled(tm, 'audit') === COUNT, {
              what: 'all to be settled',
            })

            for (const each of await tm.admin.consumers('events', { group: 'email' })) {
              const { processed, failed } = did[each.consumer as 'odd']
              assert.deepEqual([each.processed, each.failed], [processed, failed])
              assert.equal(each.handler.count, processed + failed, each.consumer)
              assert.ok(each.handler.max >= SLOW_MS - 5, `${each.consumer}: max ${each.handler.max}`)
              assert.ok(each.handler.p50 < SLOW_MS / 2, `${each.consumer}: p50 ${each.handler.p50}`)
              assert.ok(each.lastActiveAt && each.lastActiveAt.getTime() >= began + SLOW_MS - 5)
            }
            const [all] = await tm.admin.consumers('events', { group: 'audit' })
            assert.deepEqual([all?.processed, all?.failed, all?.handler.count], [COUNT, 0, COUNT])
            assert.equal(tm.metrics().topics.events?.groups.email?.handler.count, COUNT)

            await until(async () => (await groupOf(tm, 'email'))?.retries === 12, { what: 'the failures' })
            const retries = await tm.admin.retries('events', { group: 'email' })
            assert.deepEqual(
              retries.map(({ error, attempts }) => [error?.name, error?.message, attempts]),
              range(1, COUNT)
                .filter(n => n % 10 < 2)
                .map(n => ['RangeError', `message ${n}`, 1]),
            )
            for (const { dueAt } of retries) assert.ok(Math.abs(dueAt.getTime() - Date.now() - 3_600_000) < 1_200_000)
            assert.equal((await groupOf(tm, 'email'))?.lagMessages, 0)

            await email.stop()
            await tm.admin.resetGroup('events', 'email', 'beginning')
            const reset = await groupOf(tm, 'email')
            assert.deepEqual([reset?.lagMessages, reset?.retries], [COUNT, 0])
            assert.equal((await groupOf(tm, 'audit'))?.lagMessages, 0)
            const reader = tm.reader('events', { group: 'email', batchSize: 20 })
            for (let n = 0; n < 20; n++) await (await reader.receive()).ack()
            assert.equal((await groupOf(tm, 'email'))?.lagMessages, COUNT - 20)
            await tm.publish('events', COUNT + 1)
            assert.equal((await groupOf(tm, 'email'))?.lagMessages, COUNT - 19)

            const late = tm.reader('events', { group: 'late', from: 'beginning', batchSize: 10 })
            for (let n = 0; n < 30; n++) await (await late.receive()).ack()
            assert.equal((await groupOf(tm, 'late'))?.lagMessages, COUNT - 29)
            const [told] = await tm.admin.consumers('events', { group: 'late' })
            assert.deepEqual([told?.processed, told?.failed, told?.handler.count], [30, 0, 30])
          },
        )
      }
    })
  }
}

async function groupOf(tm: Tidemark, name: string) {
  return (await tm.admin.groups('events')).find(({ group }) => group === name)
}

function settled(tm: Tidemark, group: string): number {
  const { acked = 0, nacked = 0 } = tm.metrics().topics.events?.groups[group]?.totals ?? {}
  return acked + nacked
}

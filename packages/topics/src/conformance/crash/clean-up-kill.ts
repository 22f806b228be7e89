import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Tidemark } from '../../index.ts'
import { type Cleaner, cleanerOf, DAY } from '../cleaning.ts'
import type { ConformanceDatabase, ConformanceStore, ConformanceStores } from '../conformance-store.ts'
import { range } from '../consuming.ts'
import { it } from '../it.ts'
import { isLong } from '../long.ts'
import type { Script } from '../script.ts'
import { SeededRandom } from '../seeded-random.ts'
import { spawn } from '../spawn.ts'
import { until } from '../until.ts'

const TOPIC = 'events'
const MESSAGES = isLong ? 800 : 400
const KILLS = isLong ? 5 : 2

type Said = { readonly removed: number; readonly lost: number }

export function killedCleanUp({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`clean-up processes killed with SIGKILL, on ${store.name}`, () => {
      it('leave a log that the next one continues: nothing needed is removed, and everything else is', async t => {
        await using database = await store.fresh()
        await using cleaner = await cleanerOf(database)
        const { tm, got } = await prepared(database, cleaner)
        const random = new SeededRandom()
        await random.named(async () => {
          for (let kill = 0; kill < KILLS; kill++) {
            await using process = spawnCleaner(store, database)
            const steps = random.below(6)
            await until(() => process.messages.length >= steps, {
              what: `${steps} steps of the clean-up`,
              timeout: 60_000,
            })
            process.kill('SIGKILL')
            await process.exited
          }
          // The paused group keeps everything it had not processed; the log goes on.
          const kept = await cleaner.kept(TOPIC)
          assert.deepEqual(kept.slice(-MESSAGES / 2), range(MESSAGES / 2 + 1, MESSAGES))
          await tm.publish(TOPIC, MESSAGES + 1)
          const group = tm.consumerGroup<number>(TOPIC, 'slow')
          group.addConsumer('again', ({ payload }) => void got.push(payload))
          await group.start()
          await until(() => new Set(got).size === MESSAGES + 1, { what: 'the slow group to get the rest' })
          await drained(tm)
          await cleaner.age(TOPIC, 2 * DAY)
          await cleaner.run()
          assert.deepEqual(await cleaner.kept(TOPIC), [])
          assert.equal(await cleaner.lost(TOPIC, 'slow'), 0)
          t.diagnostic(`${KILLS} kills`)
        })
      })

      it('two at once, with live traffic: nothing twice, nothing needed', async () => {
        await using database = await store.fresh()
        await using cleaner = await cleanerOf(database)
        const { tm, got } = await prepared(database, cleaner)
        await using one = spawnCleaner(store, database)
        await using two = spawnCleaner(store, database)
        const group = tm.consumerGroup<number>(TOPIC, 'slow')
        group.addConsumer('again', ({ payload }) => void got.push(payload))
        await group.start()
        for (let round = 0; round < 20; round++) await tm.publish(TOPIC, MESSAGES + 1 + round)
        await until(() => new Set(got).size === MESSAGES + 20, { what: 'the slow group to get all' })
        await drained(tm)
        await cleaner.age(TOPIC, 2 * DAY)
        await until(async () => (await cleaner.kept(TOPIC)).length === 0, {
          what: 'all to be removed',
          timeout: 60_000,
        })
        const total = (): number => sum(one) + sum(two)
        await until(() => total() >= MESSAGES + 20, { what: 'both to say what they removed' })
        assert.equal(total(), MESSAGES + 20)
        assert.equal(await cleaner.lost(TOPIC, 'slow'), 0)
      })
    })
  }
}

const sum = ({ messages }: Script): number => (messages as Said[]).reduce((all, { removed }) => all + removed, 0)

const spawnCleaner = (store: ConformanceStore, { url }: ConformanceDatabase): Script =>
  spawn(store, 'cleaner', [JSON.stringify({ url, topic: TOPIC, batchSize: 50 })])

/** All messages are old; one group has processed all of them, the other half of them and is stopped. */
async function prepared(database: ConformanceDatabase, cleaner: Cleaner): Promise<{ tm: Tidemark; got: number[] }> {
  const tm = await database.open()
  await tm.configureTopic(TOPIC, { semantics: 'pub-sub', retention: '24h', partitionRows: 50 })
  const got: number[] = []
  const slow = tm.consumerGroup<number>(TOPIC, 'slow', { batchSize: 50 })
  slow.addConsumer('one', ({ payload }) => void got.push(payload))
  const fast = tm.consumerGroup<number>(TOPIC, 'fast', { batchSize: 500 })
  let count = 0
  fast.addConsumer('one', () => void count++)
  await slow.start({ from: 'beginning' })
  await fast.start({ from: 'beginning' })
  for (let n = 0; n < MESSAGES / 2; n += 50) await tm.publishBatch(TOPIC, range(n + 1, n + 50))
  await until(() => got.length === MESSAGES / 2, { what: 'the slow group to get half' })
  await slow.stop()
  for (let n = MESSAGES / 2; n < MESSAGES; n += 50) await tm.publishBatch(TOPIC, range(n + 1, n + 50))
  await until(() => count === MESSAGES, { what: 'the fast group to get all' })
  await fast.stop()
  await cleaner.age(TOPIC, 2 * DAY)
  // It stays as it is, without new messages.
  const again = tm.consumerGroup<number>(TOPIC, 'fast')
  again.addConsumer('rest', () => {})
  await again.start()
  return { tm, got }
}

async function drained(tm: Tidemark): Promise<void> {
  await until(
    async () => {
      const { groups } = await tm.admin.describeTopic(TOPIC)
      return groups.every(({ backlog, inFlight, retries }) => backlog + inFlight + retries === 0)
    },
    { what: 'the groups to drain' },
  )
}

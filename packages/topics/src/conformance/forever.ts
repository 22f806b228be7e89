import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { ConfigError, type Tracking } from '../index.ts'
import { type Cleaner, cleanerOf, DAY } from './cleaning.ts'
import { type ConformanceDatabase, type ConformanceStores, needsTracking } from './conformance-store.ts'
import { consume, range } from './consuming.ts'
import { it } from './it.ts'

const FOREVER = { semantics: 'pub-sub', retention: 'forever', partitionRows: 10 } as const

export function forever({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`retention 'forever' on ${store.name}`, () => {
      type Body = (database: ConformanceDatabase, cleaner: Cleaner) => Promise<void>
      const test = (name: string, body: Body, tracking: Tracking = 'offset'): void => {
        it(name, needsTracking(store, tracking), async () => {
          await using database = await store.fresh()
          await using cleaner = await cleanerOf(database)
          await body(database, cleaner)
        })
      }

      for (const tracking of ['offset', 'reference'] satisfies Tracking[]) {
        test(
          `by ${tracking}: keeps all, and a new group from the beginning gets everything`,
          async (database, cleaner) => {
            const tm = await database.open()
            const config = await tm.configureTopic('events', { ...FOREVER, tracking })
            assert.equal(config.maxRetentionMs, null)
            const early = tm.reader('events', { group: 'early', from: 'beginning' })
            await tm.publishBatch('events', range(1, 35))
            await consume(early, 20)
            await cleaner.age('events', 4_000 * DAY)
            assert.deepEqual(await cleaner.run(), { removed: 0, lost: 0 })
            const late = tm.reader('events', { group: 'late', from: 'beginning' })
            assert.deepEqual(await consume(late, 35), range(1, 35))
            assert.deepEqual(await consume(early, 15), range(21, 35))
          },
          tracking,
        )

        test(
          `by ${tracking}: keeps messages without a subscription`,
          async (database, cleaner) => {
            const tm = await database.open()
            await tm.configureTopic('events', { ...FOREVER, tracking })
            await tm.publishBatch('events', range(1, 35))
            await cleaner.age('events', 4_000 * DAY)
            assert.deepEqual(await cleaner.run(), { removed: 0, lost: 0 })
            const late = tm.reader('events', { group: 'late', from: 'beginning' })
            assert.deepEqual(await consume(late, 35), range(1, 35))
          },
          tracking,
        )
      }

      test('keeps messages without a subscription for their own retention', async (database, cleaner) => {
        const tm = await database.open()
        await tm.configureTopic('events', { ...FOREVER, zeroSubscriptionRetention: '10d' })
        await tm.publishBatch('events', range(1, 35))
        await cleaner.age('events', 9 * DAY)
        assert.equal((await cleaner.run()).removed, 0)
        await cleaner.age('events', 2 * DAY)
        assert.equal((await cleaner.run()).removed, 35)
        await tm.configureTopic('events', { zeroSubscriptionRetention: 'forever' })
        await tm.publishBatch('events', range(36, 50))
        await cleaner.age('events', 4_000 * DAY)
        assert.equal((await cleaner.run()).removed, 0)
      })

      test('refuses a cap beside it, and says why', async database => {
        const tm = await database.open()
        for (const maxRetention of ['1s', '30d', '10000d'] as const) {
          await assert.rejects(
            tm.configureTopic('events', { ...FOREVER, maxRetention }),
            (error: Error) => error instanceof ConfigError && /maxRetention.*'none'.*'forever'/.test(error.message),
          )
        }
        assert.deepEqual(await tm.admin.topics(), [])
      })

      test('is refused if a cap was given before, until that is lifted', async database => {
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub', maxRetention: '30d' })
        await assert.rejects(
          tm.configureTopic('events', { retention: 'forever' }),
          (error: Error) => error instanceof ConfigError && /retention.*'forever'.*maxRetention/.test(error.message),
        )
        await assert.rejects(tm.configureTopic('events', { retention: '40d' }), /retention.*maxRetention/)
        assert.equal((await tm.configureTopic('events', {})).retentionMs, DAY)
        const lifted = await tm.configureTopic('events', { retention: 'forever', maxRetention: 'none' })
        assert.deepEqual([lifted.retentionMs, lifted.maxRetentionMs], [null, null])
        await assert.rejects(tm.configureTopic('events', { maxRetention: '1s' }), /maxRetention.*'forever'/)
      })

      test('lets a default cap follow the retention, back and forth', async database => {
        const tm = await database.open()
        const caps: (number | null)[] = []
        for (const retention of ['24h', '60d', 'forever', '7d'] as const) {
          caps.push((await tm.configureTopic('events', { retention })).maxRetentionMs)
        }
        assert.deepEqual(caps, [30 * DAY, 60 * DAY, null, 30 * DAY])
        const { config } = (await tm.admin.topics())[0] ?? {}
        assert.deepEqual(Object.keys(config ?? {}).includes('given'), false)
      })
    })
  }
}

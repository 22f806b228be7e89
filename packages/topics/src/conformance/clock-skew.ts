import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ConformanceStores } from './conformance-store.ts'
import { groupOf, isDone, pubSub } from './consuming.ts'
import { it } from './it.ts'
import { spawn } from './spawn.ts'
import { until } from './until.ts'

const HOUR = 3_600_000

export function clockSkew({ secluded }: ConformanceStores): void {
  for (const store of secluded) {
    describe(`clock skew between consumer and database on ${store.name}`, () => {
      for (const skewMs of [-2 * HOUR, 2 * HOUR]) {
        it(`changes nothing when the consumer’s clock is ${skewMs / HOUR} hours off`, async () => {
          await using database = await store.fresh()
          const tm = await pubSub(await database.open(), { lease: '1h', retention: '1h' })
          const skew = `const now = Date.now; Date.now = () => now() + ${skewMs}`
          await using consumer = spawn(
            store,
            'beating-consumer',
            [JSON.stringify({ url: database.url, topic: 'events', group: 'g', hold: true })],
            { nodeFlags: [`--import=data:text/javascript,${encodeURIComponent(skew)}`] },
          )
          await consumer.waitForLine('started')
          await tm.publish('events', 1)
          await consumer.waitForLine('got 1 attempt 1')
          const before = (await groupOf(tm, 'events', 'g')).heartbeat.lastAt
          await until(async () => (await groupOf(tm, 'events', 'g')).heartbeat.lastAt > before, {
            what: 'a heartbeat',
          })
          const { heartbeat } = await groupOf(tm, 'events', 'g')
          assert.ok(Math.abs(heartbeat.lastAt - Date.now()) < 60_000, 'by the database’s clock')
          assert.deepEqual(await tm.admin.jobs['dead-groups'].runOnce(), {
            missed: 0,
            dead: 0,
            unsubscribed: 0,
            bitsCleared: 0,
          })
          // Its lease holds: nobody else gets the message.
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
  }
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import { groupOf, isDone, pubSub } from '../../src/conformance/consuming.ts'
import { SECLUDED_STORES } from './stores.ts'

const HOUR = 3_600_000

for (const store of SECLUDED_STORES) {
  describe(`clock skew between consumer and database on ${store.name}`, () => {
    for (const skewMs of [-2 * HOUR, 2 * HOUR]) {
      it(`changes nothing when the consumer’s clock is ${skewMs / HOUR} hours off`, async () => {
        await using database = await store.fresh()
        const tm = await pubSub(await database.open(), { lease: '1h', retention: '1h' })
        const script = new URL('../crash/scripts/beating-consumer.ts', import.meta.url)
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
}

const timeOf = (stored: unknown): number => (stored instanceof Date ? stored.getTime() : Number(stored))

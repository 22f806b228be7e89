import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ConformanceStores } from '../conformance-store.ts'
import { it } from '../it.ts'
import { spawn } from '../spawn.ts'
import { until } from '../until.ts'

const TOPIC = 'jobs'
const GROUP = 'workers'
const IN_FLIGHT = 1_500

export function killedInFlight({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(`${IN_FLIGHT} messages in flight in a process that is killed, on ${store.name}`, () => {
      it('come back in a few pages', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic(TOPIC, { semantics: 'pub-sub', lease: '2s' })
        const payloads = Array.from({ length: IN_FLIGHT }, (_, n) => n)
        await tm.publishBatch(TOPIC, payloads)
        const settings = { url: database.url, topic: TOPIC, group: GROUP, size: IN_FLIGHT }
        await using holder = spawn(store, 'holder', [JSON.stringify(settings)])
        await until(() => holder.messages.includes('holding'), { what: 'the page to be claimed' })
        holder.kill('SIGKILL')
        assert.equal((await holder.exited).signal, 'SIGKILL')

        const pages: number[] = []
        tm.on('received', ({ count }) => pages.push(count))
        // Its own lease is longer: nothing may expire while they are read.
        const reader = tm.reader(TOPIC, { group: GROUP, batchSize: IN_FLIGHT, lease: '5m' })
        const back: unknown[] = []
        while (back.length < IN_FLIGHT) {
          const delivery = await reader.poll('30s')
          assert.ok(delivery, `${back.length} came back`)
          back.push(delivery.payload)
          await delivery.ack()
        }
        assert.deepEqual(back, payloads)
        // Four attempts are left, and 7 is the smallest number whose 4th power reaches 1500.
        assert.deepEqual(pages, [215, 214, 214, 215, 214, 214, 214])
        assert.deepEqual(await tm.admin.deadLetters(TOPIC), [])
      })
    })
  }
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import { open } from '../../src/index.ts'
import { ENGINES } from './engines.ts'

const TOPIC = 'jobs'
const GROUP = 'workers'
const SCRIPT = new URL('scripts/holder.ts', import.meta.url)
const IN_FLIGHT = 1_500

for (const engine of ENGINES) {
  describe(`${IN_FLIGHT} messages in flight in a process that is killed, on ${engine.name}`, () => {
    it('come back in a few pages', async () => {
      await using store = await engine.fresh()
      await using tm = await open(store.url)
      await tm.configureTopic(TOPIC, { semantics: 'pub-sub', lease: '2s' })
      const payloads = Array.from({ length: IN_FLIGHT }, (_, n) => n)
      await tm.publishBatch(TOPIC, payloads)
      const settings = { url: store.url, topic: TOPIC, group: GROUP, size: IN_FLIGHT }
      await using holder = spawnScript(SCRIPT, [JSON.stringify(settings)])
      await until(() => holder.messages.includes('holding'), { what: 'the page to be claimed' })
      holder.kill('SIGKILL')
      assert.equal((await holder.exited).signal, 'SIGKILL')

      const pages: number[] = []
      tm.on('received', ({ count }) => pages.push(count))
      // Its own lease is longer: nothing may run out while they are read.
      const reader = tm.reader(TOPIC, { group: GROUP, batchSize: IN_FLIGHT, lease: '5m' })
      const back: unknown[] = []
      while (back.length < IN_FLIGHT) {
        const delivery = await reader.poll('30s')
        assert.ok(delivery, `${back.length} came back`)
        back.push(delivery.payload)
        await delivery.ack()
      }
      assert.deepEqual(back, payloads)
      // Four attempts are left, and 7 to the power of 4 is the first to reach 1500.
      assert.deepEqual(pages, [215, 214, 214, 215, 214, 214, 214])
      assert.deepEqual(await tm.admin.deadLetters(TOPIC), [])
    })
  })
}

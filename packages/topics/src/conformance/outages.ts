import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type Logger, NoSubscriptionsError, PayloadTooLargeError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, consume, eventsOf, happened } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function outages({ stores, shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(store.name, () => {
      it('counts failed publishes, and reports once when they begin to fail and once when they work again', async () => {
        await using database = await store.fresh()
        const { logger, lines } = noting()
        const tm = await database.open({ logger })
        await tm.configureTopic('work')
        await tm.publish('work', 0)
        lines.length = 0
        const [began, ended, errors] = [eventsOf(tm, 'outage'), eventsOf(tm, 'outage-ended'), eventsOf(tm, 'error')]
        await using fault = await database.breakDown('publish')
        for (const n of [1, 2, 3]) await assert.rejects(tm.publish('work', n))
        assert.deepEqual([tm.metrics().failures.write, errors.length], [3, 3])
        assert.deepEqual([errors[0]?.action, errors[0]?.topic, began.length], ['publish', 'work', 1])
        assert.deepEqual([began[0]?.kind, began[0]?.topic], ['write', 'work'])
        const [open] = tm.metrics().outages
        assert.deepEqual([open?.kind, open?.failed], ['write', 3])
        await fault.mend()
        await tm.publish('work', 4)
        assert.deepEqual([began.length, ended.length, ended[0]?.failed], [1, 1, 3])
        assert.deepEqual(tm.metrics().outages, [])
        assert.deepEqual(lines, ['warn', 'info'])
      })

      for (const kind of ['claim', 'settle'] as const) {
        it(`does the same for a ${kind}, and continues`, async () => {
          await using database = await store.fresh()
          const { logger, lines } = noting()
          const tm = await database.open({ logger })
          const group = tm.consumerGroup<number>('work')
          const deliveries = collect(group)
          await tm.publish('work', 0)
          await group.start({ heartbeat: { interval: '1h', timeout: '2h' } })
          await until(() => tm.metrics().totals.acked === 1, { what: 'the first message' })
          lines.length = 0
          const [began, ended] = [eventsOf(tm, 'outage'), eventsOf(tm, 'outage-ended')]
          await using fault = await database.breakDown(kind)
          await tm.publish('work', 1)
          await until(() => tm.metrics().failures[kind] >= 3, { what: 'failures' })
          assert.deepEqual([began.length, began[0]?.kind], [1, kind])
          await fault.mend()
          await happened(ended, 1, 'the end of it')
          await until(() => tm.metrics().totals.acked === 2, { what: 'the second message' })
          assert.deepEqual(lines, ['warn', 'info'])
          assert.deepEqual([deliveries.length, ended[0]?.kind], [2, kind])
          assert.ok((ended[0]?.failed ?? 0) >= 3)
        })
      }

      it('counts failed polls of a reader, which gets the errors too', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        const reader = await tm.reader('work').ready()
        await tm.publish('work', 1)
        const began = eventsOf(tm, 'outage')
        await using fault = await database.breakDown('claim')
        await assert.rejects(reader.poll(0))
        assert.deepEqual([tm.metrics().failures.claim, began.length], [1, 1])
        const { failing, healthy } = await tm.admin.health()
        assert.deepEqual([failing.length, healthy], [1, false])
        await fault.mend()
        assert.deepEqual(await consume(reader, 1), [1])
        const [group] = await tm.admin.groups('work')
        assert.deepEqual([group?.healthy, group?.failingSince], [true, null])
        assert.ok(group?.lastClaimAt instanceof Date)
      })
    })
  }

  for (const store of stores) {
    describe(store.name, () => {
      it('does not count what is the caller’s fault', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub', blockPublishWithoutSubscription: true })
        await tm.configureTopic('small', { maxMessageBytes: 100 })
        await assert.rejects(tm.publish('events', 1), NoSubscriptionsError)
        await assert.rejects(tm.publish('small', 'x'.repeat(200)), PayloadTooLargeError)
        await assert.rejects(tm.admin.groups('unknown'))
        assert.deepEqual(Object.values(tm.metrics().failures), [0, 0, 0, 0, 0, 0])
        assert.deepEqual(tm.metrics().outages, [])
      })
    })
  }
}

function noting(): { logger: Logger; lines: string[] } {
  const lines: string[] = []
  const log = (level: string) => () => void lines.push(level)
  return { lines, logger: { debug() {}, info: log('info'), warn: log('warn'), error: log('error') } }
}

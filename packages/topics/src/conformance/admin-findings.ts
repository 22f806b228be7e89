import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, happened, payloadsOf, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function adminFindings({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(`the health on ${store.name}`, () => {
      it('names groups near their timeout', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        for (const group of ['near', 'fine']) await tm.reader('events', { group }).ready()
        await database.ageGroups(241_000, 'near')
        const { nearTimeout } = await tm.admin.health()
        assert.deepEqual(
          nearTimeout.map(({ topic, group, heartbeatTimeoutMs }) => [topic, group, heartbeatTimeoutMs]),
          [['events', 'near', 300_000]],
        )
      })

      it('names topics with stuck messages, until they are delivered', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        const group = tm.consumerGroup('events', 'g')
        const deliveries = collect(group)
        await group.start()
        await group.pause()
        await tm.publish('events', 1)
        await database.ageMessages('events', 2 * 3_600_000)
        assert.deepEqual(
          (await tm.admin.health()).stuck.map(({ topic }) => topic),
          ['events'],
        )
        await group.resume()
        await happened(deliveries, 1, 'the message')
        assert.deepEqual(payloadsOf(deliveries), [1])
        await until(async () => (await tm.admin.health()).stuck.length === 0, { what: 'nothing to be stuck' })
      })

      it('finds no inconsistency, whatever groups come and go', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub' })
        for (const group of ['a', 'b', 'c']) {
          const reader = tm.reader('events', { group, from: 'beginning' })
          await reader.ready()
          await tm.publishBatch('events', range(1, 5))
          await (await receive(reader)).nack(new Error('no'))
          await (await receive(reader)).ack()
        }
        await tm.admin.cancelGroup('events', 'a')
        await tm.admin.resetGroup('events', 'b', 'now')
        await database.expireLeases()
        await tm.admin.removeGroup('events', 'a', { timeout: 0 })
        assert.deepEqual((await tm.admin.health()).inconsistencies, [])
      })

      it('needs no custom queries: it has idle groups, mismatches and ended groups', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.configureTopic('events', { semantics: 'pub-sub', zombieTtl: '1h' })
        for (const group of ['zombie', 'ended']) await tm.reader('events', { group }).ready()
        await tm.publish('events', 1)
        await database.setStatus('ended', 'DEAD')
        await database.ageGroups(2 * 3_600_000)
        await database.ageMessages('events', 2 * 3_600_000)
        const health = await tm.admin.health()
        assert.deepEqual(
          [health.zombies.map(({ group }) => group), health.dead.map(({ group }) => group), health.inconsistencies],
          [['zombie'], ['ended'], []],
        )
        assert.ok(Array.isArray(health.jobs))
      })
    })
  }
}

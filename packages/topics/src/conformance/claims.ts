import assert from 'node:assert/strict'
import { describe } from 'node:test'
import {
  type Claim,
  ClaimNotFoundError,
  ConfigError,
  type Delivery,
  GroupNotFoundError,
  StaleDeliveryError,
} from '../index.ts'
import { type ConformanceStores, needs } from './conformance-store.ts'
import { collect, consume, eventsOf, groupOf, range, receive, soon } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function claims({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('admin.claims', () => {
        it('shows which messages are held, by whom, since when, until when, and at which attempt', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: '1h' })
          const own = await tm.publish('work', 1, { messageId: 'mine' })
          const refs = [own, ...(await tm.publishBatch('work', [2, 3]))]
          const before = Date.now()
          const reader = tm.reader('work', { consumer: 'one', batchSize: 3 })
          const page = [await receive(reader), await receive(reader), await receive(reader)]
          await page[1]?.ack()
          const { claims, next } = await tm.admin.claims('work')
          assert.equal(next, null)
          const [claim] = claims
          assert.deepEqual(claims, [
            {
              id: claim?.id,
              topic: 'work',
              group: '',
              consumer: 'one',
              claimedAt: claim?.claimedAt,
              expiresAt: claim?.expiresAt,
              size: 3,
              unsettled: 2,
              firstId: refs[0]?.id,
              lastId: refs[2]?.id,
              messages: [
                { id: refs[0]?.id, messageId: 'mine', attempt: 1, version: 1 },
                { id: refs[2]?.id, messageId: refs[2]?.messageId, attempt: 1, version: 1 },
              ],
            },
          ])
          assert.ok(claim?.expiresAt && claim.claimedAt.getTime() >= before - 1_000)
          assert.ok(Math.abs(claim.expiresAt.getTime() - claim.claimedAt.getTime() - 3_600_000) < 1_000)
          for (const delivery of page) await delivery.ack()
          assert.deepEqual((await tm.admin.claims('work')).claims, [])
        })

        it('shows how often a retried message was claimed', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const { id, messageId } = await tm.publish('work', 1)
          const reader = tm.reader('work')
          await (await receive(reader)).nack('again', { delay: 0 })
          const again = await receive(reader)
          const [claim] = (await tm.admin.claims('work')).claims
          assert.deepEqual(claim?.messages, [{ id, messageId, attempt: 2, version: 2 }])
          assert.deepEqual([claim?.firstId, claim?.lastId, claim?.unsettled], [id, id, 1])
          await again.ack()
        })

        it('is limited to one group or consumer on request', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub' })
          const one = tm.reader('events', { group: 'a', consumer: 'one', from: 'beginning' })
          const two = tm.reader('events', { group: 'a', consumer: 'two', from: 'beginning' })
          const other = tm.reader('events', { group: 'b', consumer: 'one', from: 'beginning' })
          await tm.publishBatch('events', [1, 2])
          for (const reader of [one, two, other]) await receive(reader)
          const who = async (options?: Parameters<typeof tm.admin.claims>[1]) =>
            (await tm.admin.claims('events', options)).claims
              .map(({ group, consumer }) => `${group}/${consumer}`)
              .sort()
          assert.deepEqual(await who(), ['a/one', 'a/two', 'b/one'])
          assert.deepEqual(await who({ group: 'a' }), ['a/one', 'a/two'])
          assert.deepEqual(await who({ consumer: 'one' }), ['a/one', 'b/one'])
          assert.deepEqual(await who({ group: 'b', consumer: 'two' }), [])
          await assert.rejects(tm.admin.claims('events', { group: 'c' }), GroupNotFoundError)
        })

        it('comes in pages, the longest held first, and names as many messages as asked for', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', range(1, 14))
          const reader = tm.reader('work', { batchSize: 2 })
          const held: Delivery[] = []
          while (held.length < 14) held.push(await receive(reader))
          const all: Claim[] = []
          for (let after: string | null | undefined; after !== null; ) {
            const page = await tm.admin.claims('work', { limit: 3, messages: 1, ...(after && { after }) })
            assert.ok(page.claims.length <= 3)
            all.push(...page.claims)
            after = page.next
          }
          assert.equal(new Set(all.map(({ id }) => id)).size, 7)
          assert.deepEqual(
            all.flatMap(({ messages }) => messages.map(({ id }) => id)).sort((a, b) => a - b),
            held.filter((_, index) => index % 2 === 0).map(({ id }) => id),
          )
          const times = all.map(({ claimedAt }) => claimedAt.getTime())
          assert.deepEqual(times, times.toSorted())
          assert.deepEqual((await tm.admin.claims('work', { messages: 0 })).claims[0]?.messages, [])
        })

        it('refuses what it does not understand', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work')
          const wrong: object[] = [{ after: 'x' }, { limit: 0 }, { messages: -1 }, { consumer: '' }, { what: 1 }]
          for (const options of wrong) await assert.rejects(tm.admin.claims('work', options), ConfigError)
          await assert.rejects(tm.admin.claims('nothing'), { code: 'TIDEMARK_TOPIC_NOT_FOUND' })
          await assert.rejects(tm.admin.releaseClaim('work', 'nonsense'), ConfigError)
        })
      })

      describe('admin.releaseClaim', () => {
        it('gives a claim that never expires to others at once, and leaves the group where it is', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: 0 })
          const refs = await tm.publishBatch('work', [1, 2, 3])
          const stuck = tm.reader('work', { consumer: 'stuck', batchSize: 2 })
          const [one, two] = [await receive(stuck), await receive(stuck)]
          await one.ack()
          const next = tm.reader('work', { consumer: 'next', lease: '5m' })
          assert.deepEqual(await consume(next, 1), [3])
          const waiting = next.receive()
          const [claim] = (await tm.admin.claims('work')).claims
          assert.deepEqual([claim?.consumer, claim?.expiresAt, claim?.unsettled], ['stuck', null, 1])

          const events = eventsOf(tm, 'claim-released')
          const released = await tm.admin.releaseClaim('work', claim?.id ?? '')
          assert.deepEqual(released, { topic: 'work', group: '', consumer: 'stuck', released: 1, deadLettered: 0 })
          const messages = [{ id: two.id, messageId: refs[1]?.messageId, version: 1 }]
          assert.deepEqual(events, [{ topic: 'work', group: '', consumer: 'stuck', count: 1, messages }])
          const again = await soon(waiting, 'the released message')
          assert.deepEqual([again.payload, again.attempt, again.version], [2, 2, 2])
          await assert.rejects(two.ack(), StaleDeliveryError)
          await assert.rejects(two.extend('1m'), StaleDeliveryError)
          // What was settled before stands, and may be repeated.
          await one.ack()
          await again.ack()
          const { inFlight, retries, backlog } = await groupOf(tm, 'work')
          assert.deepEqual({ inFlight, retries, backlog }, { inFlight: 0, retries: 0, backlog: 0 })
        })

        it('finds nothing the second time', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('other')
          await tm.publish('work', 1)
          const held = await receive(tm.reader('work'))
          const id = (await tm.admin.claims('work')).claims[0]?.id ?? ''
          await assert.rejects(tm.admin.releaseClaim('other', id), ClaimNotFoundError)
          await tm.admin.releaseClaim('work', id)
          await assert.rejects(tm.admin.releaseClaim('work', id), ClaimNotFoundError)
          await assert.rejects(held.ack(), StaleDeliveryError)
        })

        it('counts the attempt: messages out of attempts are dead-lettered with the reason', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 1 })
          await tm.publish('work', 1)
          await receive(tm.reader('work', { consumer: 'gone' }))
          const [claim] = (await tm.admin.claims('work')).claims
          const released = await tm.admin.releaseClaim('work', claim?.id ?? '')
          assert.deepEqual([released.released, released.deadLettered], [0, 1])
          const [letter] = await tm.admin.deadLetters('work')
          assert.equal(letter?.error.name, 'ClaimReleasedError')
          assert.match(letter?.error.message ?? '', /operator.*'gone'/)
          assert.equal(letter?.history.length, 1)
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('a page that an operator releases', () => {
        it('comes back in pieces, because one of its messages may have killed its holder', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('work', { lease: 0, maxAttempts: 3 })
          await here.publishBatch('work', range(1, 60))
          await receive(here.reader('work', { batchSize: 60 }))
          const [claim] = (await there.admin.claims('work')).claims
          const received = eventsOf(there, 'received')
          assert.equal((await there.admin.releaseClaim('work', claim?.id ?? '')).released, 60)
          assert.deepEqual(await consume(there.reader('work', { batchSize: 60 }), 60), range(1, 60))
          // Two attempts are left, and 8 is the smallest number whose square reaches 60.
          assert.equal(received.length, 8)
        })

        for (const lease of [0, '1h'] as const) {
          it(`goes to another process if its holder hangs and lease is ${lease}`, async () => {
            await using database = await store.fresh()
            const [here, there] = [await database.open(), await database.open()]
            await here.configureTopic('work', { lease })
            await here.publishBatch('work', [1, 2])
            const hang = Promise.withResolvers<void>()
            const started = eventsOf(here, 'received')
            const signals: AbortSignal[] = []
            const hanging = here.consumerGroup('work').addConsumer('hangs', async (_, { signal }) => {
              signals.push(signal)
              await hang.promise
            })
            await hanging.start()
            await until(() => signals.length === 1, { what: 'the handler to hang' })
            const [claim] = (await there.admin.claims('work')).claims
            await there.admin.releaseClaim('work', claim?.id ?? '')
            // Its holder runs alone, so it is also the first to claim the messages again.
            await until(() => started.length > 1 && signals[0]?.aborted, { what: 'the handler to be told' })
            const group = there.consumerGroup('work')
            const seen = collect(group)
            await group.start()
            await until(() => seen.length === 2, { what: 'the messages in the other process' })
            hang.resolve()
            await group.stop()
            await hanging.stop()
            assert.equal(signals.length, 1)
            const { inFlight, retries, deadLetters } = await groupOf(there, 'work')
            assert.deepEqual({ inFlight, retries, deadLetters }, { inFlight: 0, retries: 0, deadLetters: 0 })
          })
        }

        it(
          'is completed if its messages are dead letters, in a topic tracked by reference',
          needs(store, 'tracking'),
          async () => {
            await using database = await store.fresh()
            const tm = await database.open()
            await tm.configureTopic('events', { semantics: 'pub-sub', tracking: 'reference', maxAttempts: 1 })
            const reader = tm.reader('events', { group: 'a', batchSize: 2 })
            await reader.ready()
            await tm.publishBatch('events', [1, 2])
            await receive(reader)
            const [claim] = (await tm.admin.claims('events', { group: 'a' })).claims
            assert.equal((await tm.admin.releaseClaim('events', claim?.id ?? '')).deadLettered, 2)
            const completion = await tm.admin.completion('events')
            assert.deepEqual(
              completion.map(({ completed }) => completed),
              [['a'], ['a']],
            )
          },
        )
      })
    })
  }
}

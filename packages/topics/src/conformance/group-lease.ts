import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type Claim, StaleDeliveryError, type Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { eventsOf, Gate, happened, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

export function groupLease({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe("a group's own lease", () => {
        it('applies to its claims, and the topic’s to those of others', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('events', { semantics: 'pub-sub', lease: '5m' })
          await tm.publish('events', 1)
          const gate = new Gate()
          const slow = tm.consumerGroup('events', 'slow', { lease: '1h' }).addConsumer('a', () => gate.passed)
          const endless = tm.consumerGroup('events', 'endless', { lease: 0 }).addConsumer('a', () => gate.passed)
          await slow.start({ from: 'beginning' })
          await endless.start({ from: 'beginning' })
          await receive(tm.reader('events', { group: 'reader', lease: '1m', from: 'beginning' }))
          await receive(tm.reader('events', { group: 'plain', from: 'beginning' }))
          await until(async () => (await tm.admin.claims('events')).claims.length === 4, { what: 'four claims' })
          assert.equal(await termOf(tm, 'slow'), HOUR)
          assert.equal(await termOf(tm, 'endless'), null)
          assert.equal(await termOf(tm, 'reader'), MINUTE)
          assert.equal(await termOf(tm, 'plain'), 5 * MINUTE)
          gate.open()
        })

        it('applies to extend() and pull()', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: '1m' })
          await tm.publishBatch('work', [1, 2])
          const held = await receive(tm.reader('work', { lease: '1h', consumer: 'reader' }))
          const before = await claimOf(tm, 'reader')
          await held.extend()
          const after = await claimOf(tm, 'reader')
          assert.ok(after.expiresAt && before.expiresAt && after.expiresAt >= before.expiresAt)
          assert.equal(termIn(after), HOUR)
          const pulled = await tm.pull('work', undefined, { lease: '2h', consumer: 'puller' })
          assert.equal(pulled.leaseMs, 2 * HOUR)
          assert.equal(termIn(await claimOf(tm, 'puller')), 2 * HOUR)
        })

        it('that never expires is extended through the database: a lost claim is reported', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: 0 })
          await tm.publishBatch('work', [1, 2])
          const held = await receive(tm.reader('work', { consumer: 'reader' }))
          await held.extend()
          assert.equal((await claimOf(tm, 'reader')).expiresAt, null)
          await held.extend('1h')
          assert.equal(termIn(await claimOf(tm, 'reader')), HOUR)
          await held.extend()
          assert.equal((await claimOf(tm, 'reader')).expiresAt, null)
          const pulled = await tm.pull('work', undefined, { lease: '1h', consumer: 'puller' })
          assert.deepEqual(await tm.extend(pulled.receipt ?? ''), { leaseMs: 0 })
          assert.equal((await claimOf(tm, 'puller')).expiresAt, null)
          for (const { id } of (await tm.admin.claims('work')).claims) await tm.admin.releaseClaim('work', id)
          await assert.rejects(held.extend(), StaleDeliveryError)
          await assert.rejects(tm.extend(pulled.receipt ?? ''), StaleDeliveryError)
        })

        it('expires, aborts the handler and lets others take over, however long the topic’s is', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: '5m' })
          await tm.publish('work', 'stuck')
          const gate = new Gate()
          const signals: AbortSignal[] = []
          const group = tm.consumerGroup('work', undefined, { lease: '200ms' })
          group.addConsumer('hung', async (_, { signal }) => {
            signals.push(signal)
            await gate.passed
          })
          await group.start()
          await happened(signals, 1, 'the handler to begin')
          const taken = await receive(tm.reader('work'))
          assert.equal(taken.payload, 'stuck')
          assert.ok(taken.version >= 2)
          await until(() => signals[0]?.aborted, { what: 'the signal to abort' })
          await taken.ack()
          gate.open()
        })

        it('is kept alive by autoExtend', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { lease: '5m' })
          await tm.publish('work', 1)
          const gate = new Gate()
          const group = tm.consumerGroup('work', undefined, { lease: '2s', autoExtend: '1h' })
          group.addConsumer('slow', () => gate.passed)
          await group.start()
          const first = await until(async () => (await tm.admin.claims('work')).claims[0], { what: 'the claim' })
          await until(
            async () => {
              const [claim] = (await tm.admin.claims('work')).claims
              assert.equal(claim?.id, first.id)
              return Number(claim?.expiresAt) > Number(first.expiresAt)
            },
            { what: 'the lease to be extended' },
          )
          gate.open()
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('a group with lease: 0 in a topic with a lease', () => {
        it('never loses a message to another of its consumers', async () => {
          await using database = await store.fresh()
          const [here, there] = [await database.open(), await database.open()]
          await here.configureTopic('work', { lease: '1m' })
          await here.publish('work', 1)
          const held = await receive(here.reader('work', { lease: 0 }))
          await database.expireLeases()
          assert.equal(await there.reader('work').poll(0), null)
          await held.ack()
        })
      })

      describe('a take-over', () => {
        it('is logged with the messages, their versions and who held them', async () => {
          await using database = await store.fresh()
          const warnings: { fields: object; text: string }[] = []
          const logger = {
            debug() {},
            info() {},
            error() {},
            warn: (fields: object, text: string) => void warnings.push({ fields, text }),
          }
          const [here, there] = [await database.open(), await database.open({ logger })]
          const refs = [
            await here.publish('work', 1, { messageId: 'mine' }),
            ...(await here.publishBatch('work', new Array(29).fill(2))),
          ]
          await receive(here.reader('work', { consumer: 'old', batchSize: 30 }))
          await database.expireLeases()
          const events = eventsOf(there, 'taken-over')
          const first = await receive(there.reader('work', { consumer: 'new', batchSize: 30 }))
          const messages = refs.slice(0, 20).map(({ id, messageId }) => ({ id, messageId, version: 1 }))
          const expected = { topic: 'work', group: '', consumer: 'old', by: 'new', count: 30, messages }
          assert.deepEqual(events, [expected])
          assert.deepEqual(warnings, [{ fields: expected, text: 'an expired lease was taken over' }])
          assert.equal(first.messageId, 'mine')

          // The new holder's deliveries have version 2.
          await database.expireLeases()
          await receive(there.reader('work', { consumer: 'third' }))
          assert.deepEqual(
            events.slice(1).map(({ consumer, messages: [taken] }) => ({ consumer, taken })),
            [{ consumer: 'new', taken: { ...messages[0], version: 2 } }],
          )
        })
      })
    })
  }
}

/** Rounded to the minute: on PostgreSQL the two times are taken one after the other. */
const termIn = ({ claimedAt, expiresAt }: Claim): number =>
  Math.round((Number(expiresAt) - Number(claimedAt)) / MINUTE) * MINUTE

async function claimOf(tm: Tidemark, consumer: string): Promise<Claim> {
  const [claim] = (await tm.admin.claims('work', { consumer })).claims
  assert.ok(claim)
  return claim
}

async function termOf(tm: Tidemark, group: string): Promise<number | null> {
  const [claim] = (await tm.admin.claims('events', { group })).claims
  assert.ok(claim)
  return claim.expiresAt && termIn(claim)
}

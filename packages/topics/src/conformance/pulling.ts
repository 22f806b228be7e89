import assert from 'node:assert/strict'
import { describe } from 'node:test'
import {
  ConfigError,
  InvalidReceiptError,
  MembershipError,
  type Pulled,
  StaleDeliveryError,
  TopicNotFoundError,
} from '../index.ts'
import type { ConformanceDatabase, ConformanceStores } from './conformance-store.ts'
import { eventsOf, groupOf, range, receive, slowValidator, soon } from './consuming.ts'
import { it } from './it.ts'
import { SeededRandom } from './seeded-random.ts'
import { until } from './until.ts'

const idsOf = ({ messages }: Pulled): number[] => messages.map(({ id }) => id)
const numbersOf = ({ messages }: Pulled): number[] =>
  messages.map(({ payload }) => Number.parseInt(String(payload), 10))
const valuesOf = ({ messages }: Pulled): unknown[] => messages.map(({ payload }) => payload)

/** The receipt of a pull that must have returned something. */
function receiptOf({ receipt }: Pulled): string {
  assert.ok(receipt !== null)
  return receipt
}

export function pulling({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      describe('a pull', () => {
        it('returns a page as it is stored, with attempts and versions', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishMessages('work', [
            { payload: { n: 1 }, key: 'k', headers: { h: 'x' }, messageId: 'mine' },
            { payload: Uint8Array.of(1, 2) },
          ])
          const pulled = await tm.pull('work', undefined, { max: 10, raw: true })
          const [first, second] = pulled.messages
          assert.equal(pulled.messages.length, 2)
          assert.equal(first?.payload, '{"n":1}')
          assert.deepEqual([first?.key, first?.headers, first?.messageId], ['k', { h: 'x' }, 'mine'])
          assert.deepEqual([first?.attempt, first?.version, first?.type], [1, 1, 'json'])
          assert.deepEqual([[...(second?.payload ?? [])], second?.type], [[1, 2], 'bytes'])
          assert.equal(pulled.leaseMs, 300_000)
          assert.equal((await groupOf(tm, 'work')).inFlight, 2)
        })

        it('returns no messages and no receipt if there are none', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          assert.deepEqual(await tm.pull('work'), { receipt: null, leaseMs: 300_000, messages: [] })
        })

        it('waits for new messages, and ends with its signal', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const waiting = tm.pull('work', undefined, { wait: '1h' })
          await tm.publish('work', 'late')
          assert.deepEqual(valuesOf(await soon(waiting, 'the message')), ['late'])
          const ended = new AbortController()
          const empty = tm.pull('work', undefined, { wait: '1h', signal: ended.signal })
          ended.abort()
          assert.equal((await soon(empty, 'the end of the wait')).receipt, null)
        })

        it('gives back messages whose payload was still being validated when it aborted', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const validator = slowValidator()
          const abort = new AbortController()
          const pulling = tm.pull('work', undefined, { schema: validator.schema, signal: abort.signal })
          await soon(validator.asked, 'the validator to be asked')
          abort.abort()
          validator.answer()
          assert.equal((await pulling).receipt, null)
          const other = await receive(tm.reader('work'))
          assert.deepEqual([other.payload, other.attempt], [1, 1])
          await other.ack()
        })

        it('releases what exceeds maxBytes without counting an attempt', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', ['a'.repeat(5_000), 'b', 'c'])
          const released = eventsOf(tm, 'released')
          const pulled = await tm.pull('work', undefined, { max: 10, maxBytes: 1_000 })
          assert.equal(pulled.messages.length, 1)
          await tm.settle(receiptOf(pulled), { acks: 'all' })
          await until(() => released.length > 0, { what: 'the rest to be given back' })
          const rest = await tm.pull('work', undefined, { max: 10 })
          assert.deepEqual(released, [{ topic: 'work', group: '', count: 2 }])
          assert.deepEqual(
            [valuesOf(rest), rest.messages.map(({ attempt }) => attempt)],
            [
              ['b', 'c'],
              [1, 1],
            ],
          )
        })

        it('of retries, cut by bytes, settles the right ones although some of them are gone', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { partitionRows: 10 })
          await tm.publishBatch(
            'work',
            range(1, 12).map(n => String(n).padEnd(2_000, '.')),
          )
          const first = await tm.pull('work', undefined, { max: 12 })
          const [failed, done] = [idsOf(first).slice(7), idsOf(first).slice(0, 7)]
          await tm.settle(receiptOf(first), { acks: done, nacks: failed.map(id => ({ id, delay: 0 })) })
          // Two of the five retries go, the first two.
          await database.removeMessagesBelow(10)
          const cut = await tm.pull('work', undefined, { max: 12, maxBytes: 4_500 })
          assert.deepEqual(numbersOf(cut), [10, 11])
          const [ten, eleven] = idsOf(cut)
          await tm.settle(receiptOf(cut), { acks: [eleven ?? 0], releases: [ten ?? 0] })
          const rest: number[] = []
          await until(
            async () => {
              const pulled = await tm.pull('work', undefined, { max: 12 })
              if (pulled.receipt !== null) await tm.settle(pulled.receipt, { acks: 'all' })
              rest.push(...numbersOf(pulled))
              return rest.length >= 2
            },
            { what: 'the others' },
          )
          assert.deepEqual(rest.sort(), [10, 12])
          const { inFlight, retries, backlog } = await groupOf(tm, 'work')
          assert.deepEqual({ inFlight, retries, backlog }, { inFlight: 0, retries: 0, backlog: 0 })
        })

        it('of several publishes names each message as its publish did', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const refs = [await tm.publish('work', 1), await tm.publish('work', 2), await tm.publish('work', 3)]
          const nacked = eventsOf(tm, 'nacked')
          const pulled = await tm.pull('work', undefined, { max: 3 })
          await tm.settle(receiptOf(pulled), { nacks: idsOf(pulled).map(id => ({ id, delay: '1h' })) })
          const published = refs.map(({ messageId }) => messageId)
          assert.deepEqual(
            pulled.messages.map(({ messageId }) => messageId),
            published,
          )
          assert.deepEqual(nacked.map(({ messageId }) => messageId).toSorted(), published.toSorted())
        })

        it('claims once there is room, and no more than that', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', ['a'.repeat(2_000), 'b'.repeat(2_000), 'c'.repeat(2_000)])
          const room = { bytes: 4_500, released: 0, release: () => void room.released++ }
          const full = tm.pull('work', undefined, { max: 10, reserve: () => Promise.reject(new RangeError('full')) })
          await assert.rejects(full, RangeError)
          assert.equal((await groupOf(tm, 'work')).inFlight, 0)
          const granted = Promise.withResolvers<typeof room>()
          const waiting = tm.pull('work', undefined, { max: 10, reserve: () => granted.promise })
          granted.resolve(room)
          const { messages } = await waiting
          assert.deepEqual([messages.length, messages[0]?.attempt, room.released], [2, 1, 0])
          await until(async () => (await groupOf(tm, 'work')).inFlight === 2, { what: 'the third to be given back' })
          await tm.pull('work', undefined, { max: 1 })
          await tm.pull('work', undefined, { max: 1, reserve: async () => room })
          assert.ok(room.released > 0, 'what is not needed is released')
        })

        it('requires a group in a pub-sub topic, begins where it is told, and each group gets all', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('news', { semantics: 'pub-sub' })
          await tm.publish('news', 1)
          await assert.rejects(tm.pull('news'), MembershipError)
          assert.deepEqual(valuesOf(await tm.pull('news', 'a', { from: 'beginning' })), [1])
          assert.deepEqual(valuesOf(await tm.pull('news', 'b', { from: 'beginning' })), [1])
          assert.deepEqual(valuesOf(await tm.pull('news', 'c')), [])
        })

        it('refuses options that are wrong', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          for (const options of [
            { max: 0 },
            { max: 1_001 },
            { wait: 'x' },
            { lease: 0 },
            { unknown: 1 },
            { from: 'x' },
          ]) {
            await assert.rejects(tm.pull('work', undefined, options as never), ConfigError)
          }
        })
      })

      describe('settling a receipt', () => {
        it('acks some and nacks others, which are redelivered with the next version', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publishBatch('work', range(1, 4))
          const pulled = await tm.pull('work', undefined, { max: 4 })
          const [one = 0, two = 0, three = 0] = idsOf(pulled)
          await tm.settle(receiptOf(pulled), {
            acks: [one],
            nacks: [{ id: two, error: new TypeError('no'), delay: 0 }],
          })
          assert.equal((await groupOf(tm, 'work')).inFlight, 2)
          await tm.settle(receiptOf(pulled), { acks: 'all', nacks: [{ id: three, error: 'later', delay: '1h' }] })
          const again = await tm.pull('work', undefined, { max: 4 })
          assert.deepEqual(idsOf(again), [two])
          assert.deepEqual([again.messages[0]?.version, again.messages[0]?.attempt], [2, 2])
          await tm.settle(receiptOf(again), { acks: 'all' })
          const { inFlight, retries, backlog } = await groupOf(tm, 'work')
          assert.deepEqual({ inFlight, retries, backlog }, { inFlight: 0, retries: 1, backlog: 0 })
        })

        it('releases messages: they are redelivered at once, and the attempt does not count', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 1 })
          await tm.publishBatch('work', ['a', 'b', 'c'])
          const first = await tm.pull('work', undefined, { max: 10 })
          const [a = 0] = idsOf(first)
          await tm.settle(receiptOf(first), { acks: [a], releases: idsOf(first).slice(1) })
          const again = await tm.pull('work', undefined, { max: 10, wait: '20s' })
          const attempts = again.messages.map(({ attempt }) => attempt)
          assert.deepEqual(
            [valuesOf(again), attempts],
            [
              ['b', 'c'],
              [1, 1],
            ],
          )
          await tm.settle(receiptOf(again), { releases: 'all' })
          assert.equal((await tm.pull('work', undefined, { max: 10, wait: '20s' })).messages.length, 2)
          assert.equal((await groupOf(tm, 'work')).deadLetters, 0)
        })

        it('may be repeated without effect', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const pulled = await tm.pull('work')
          await tm.settle(receiptOf(pulled), { acks: 'all' })
          await tm.settle(receiptOf(pulled), { acks: 'all' })
          await tm.settle(receiptOf(pulled), { nacks: [{ id: idsOf(pulled)[0] ?? 0, delay: 0 }] })
          assert.equal((await tm.pull('work')).receipt, null)
        })

        it('dead-letters after maxAttempts, with the given error', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 2 })
          await tm.publish('work', 'poison')
          for (const message of ['first', 'second']) {
            const pulled = await tm.pull('work')
            const [id = 0] = idsOf(pulled)
            await tm.settle(receiptOf(pulled), { nacks: [{ id, error: message, delay: 0 }] })
          }
          const [letter] = await tm.admin.deadLetters('work')
          assert.deepEqual([letter?.attempts, letter?.error.message], [2, 'second'])
          assert.equal((await tm.pull('work')).receipt, null)
        })

        it('refuses ids that are not of the receipt, and an id twice', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const pulled = await tm.pull('work')
          const [id = 0] = idsOf(pulled)
          for (const wrong of [
            { acks: [id + 1] },
            { acks: [id, id] },
            { acks: [id], nacks: [{ id }] },
            { nacks: [{}] },
          ]) {
            await assert.rejects(tm.settle(receiptOf(pulled), wrong as never), ConfigError)
          }
          assert.equal((await groupOf(tm, 'work')).inFlight, 1)
        })

        it('refuses invalid receipts, and those altered by a single character', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const receipt = receiptOf(await tm.pull('work'))
          for (const wrong of ['', 'x', 'tmr1..', `${receipt}.`, receipt.slice(0, -1), null, 7]) {
            await assert.rejects(tm.settle(wrong as never, { acks: 'all' }), InvalidReceiptError)
          }
          const random = new SeededRandom()
          await random.named(async () => {
            for (let run = 0; run < 50; run++) {
              const at = random.below(receipt.length)
              const letter = random.pick(['A', 'z', '0', '.', '-'].filter(each => each !== receipt[at]))
              const altered = receipt.slice(0, at) + letter + receipt.slice(at + 1)
              await assert.rejects(tm.settle(altered, { acks: 'all' }), InvalidReceiptError, altered)
            }
          })
          assert.equal((await groupOf(tm, 'work')).inFlight, 1)
        })

        it('is counted as any other settlement', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const acked = eventsOf(tm, 'acked')
          await tm.publish('work', 1)
          await tm.settle(receiptOf(await tm.pull('work')), { acks: 'all' })
          assert.deepEqual(acked, [{ topic: 'work', group: '', count: 1 }])
          assert.equal(tm.metrics().totals.acked, 1)
        })
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      describe('a receipt', () => {
        it('is valid in any process, and outlives the one that issued it', async () => {
          await using database = await store.fresh()
          const here = await database.open()
          await here.publishBatch('work', range(1, 3))
          const pulled = await here.pull('work', undefined, { max: 3 })
          await here.close()
          const there = await database.open()
          await there.extend(receiptOf(pulled))
          await there.settle(receiptOf(pulled), { acks: 'all' })
          assert.equal((await groupOf(there, 'work')).inFlight, 0)
          assert.equal((await there.pull('work')).receipt, null)
        })

        it('settles only its own messages, even if the issuing process has not released the rest yet', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const other = await database.open()
          await tm.publishBatch(
            'work',
            range(1, 6).map(() => 'x'.repeat(1_000)),
          )
          await other.admin.topics()
          const handed: number[] = []
          while (handed.length < 6) {
            const pulled = await tm.pull('work', undefined, { max: 6, maxBytes: 2_500, wait: '20s' })
            assert.ok(pulled.messages.length > 0, `only ${handed.length} of 6 messages were ever handed out`)
            handed.push(...idsOf(pulled))
            await other.settle(receiptOf(pulled), { acks: 'all' })
          }
          assert.equal(new Set(handed).size, 6)
        })

        it('is stale once the lease was taken over: nothing is changed', async () => {
          await using test = await takenOver(await store.fresh())
          const { tm, old, current } = test
          const stale = eventsOf(tm, 'stale')
          for (const act of [
            () => tm.settle(receiptOf(old), { acks: 'all' }),
            () => tm.settle(receiptOf(old), { nacks: [{ id: idsOf(old)[0] ?? 0, delay: 0 }] }),
            () => tm.extend(receiptOf(old)),
          ]) {
            await assert.rejects(act(), (error: unknown) => {
              assert.ok(error instanceof StaleDeliveryError)
              assert.deepEqual([error.messageId, error.version], ['mine', 1])
              return true
            })
          }
          assert.equal(stale.length, 3)
          assert.equal((await groupOf(tm, 'work')).inFlight, 1)
          await tm.settle(receiptOf(current), { acks: 'all' })
          assert.equal((await groupOf(tm, 'work')).inFlight, 0)
        })

        it('is stale when its topic was deleted and recreated', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.publish('work', 1)
          const pulled = await tm.pull('work')
          await tm.admin.deleteTopic('work')
          await assert.rejects(tm.settle(receiptOf(pulled), { acks: 'all' }), TopicNotFoundError)
          await tm.publish('work', 2)
          await assert.rejects(tm.settle(receiptOf(pulled), { acks: 'all' }), StaleDeliveryError)
        })
      })

      it('holds messages for the requested lease, and for as long as it is extended', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.publish('work', 1)
        const pulled = await tm.pull('work', undefined, { lease: '100ms' })
        assert.equal(pulled.leaseMs, 100)
        const again = await tm.pull('work', undefined, { wait: '20s' })
        assert.equal(again.messages[0]?.version, 2)
        assert.deepEqual(await tm.extend(receiptOf(again), '1h'), { leaseMs: 3_600_000 })
        assert.equal((await tm.pull('work')).receipt, null)
        await tm.settle(receiptOf(again), { acks: 'all' })
      })

      it('shares a group with readers', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.publishBatch('work', range(1, 2))
        const pulled = await tm.pull('work')
        const delivery = await receive(tm.reader<number>('work'))
        assert.deepEqual([valuesOf(pulled), delivery.payload], [[1], 2])
      })

      it('keeps a group alive by pulling, and resurrects it', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ maintenance: false })
        await tm.configureTopic('news', { semantics: 'pub-sub' })
        await tm.pull('news', 'g')
        await tm.publish('news', 1)
        for (let misses = 0; misses < 3; misses++) {
          await database.ageGroups(400_000)
          await tm.admin.jobs['dead-groups'].runOnce()
        }
        assert.equal((await groupOf(tm, 'news', 'g')).status, 'DEAD')
        const pulled = await tm.pull('news', 'g', { wait: '20s' })
        assert.deepEqual(valuesOf(pulled), [1])
        assert.equal((await groupOf(tm, 'news', 'g')).status, 'ACTIVE')
      })

      it('reports what it processed when it is closed', async () => {
        await using database = await store.fresh()
        const tm = await database.open()
        await tm.publish('work', 1)
        await tm.settle(receiptOf(await tm.pull('work')), { acks: 'all' })
        await tm.close()
        assert.equal((await groupOf(await database.open(), 'work')).processed, 1)
      })
    })
  }
}

/** A message that was pulled twice, because the first lease expired. */
async function takenOver(database: ConformanceDatabase) {
  const tm = await database.open()
  await tm.publish('work', 1, { messageId: 'mine' })
  const old = await tm.pull('work')
  await database.expireLeases()
  const current = await tm.pull('work', undefined, { wait: '20s' })
  assert.equal(current.messages[0]?.version, 2)
  return { tm, old, current, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ConformanceStore, ConformanceStores } from './conformance-store.ts'
import { eventsOf, Gate, groupOf, happened, range, receive } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function suspects({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(store.name, () => {
      describe('a handler that never ends', () => {
        it('uses up the attempts of its own message, and of no other of its page', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 2 })
          await tm.publishBatch('work', range(1, 40))
          const done = new Set<unknown>()
          // Long enough for a busy machine to settle the others in time.
          const group = tm.consumerGroup('work', undefined, { lease: '2s' })
          group.addConsumer(
            'worker',
            async ({ payload }) => {
              if (payload === 13) await new Promise(() => {})
              done.add(payload)
            },
            { concurrency: 4 },
          )
          await group.start()
          await until(async () => (await groupOf(tm, 'work')).deadLetters > 0, { what: 'the dead letter' })
          await until(() => done.size === 39, { what: 'all others to be handled' })
          const letters = await tm.admin.deadLetters('work')
          assert.deepEqual(
            letters.map(({ payload, attempts }) => ({ payload, attempts })),
            [{ payload: '13', attempts: 2 }],
          )
          await group.stop({ timeout: 0 })
        })
      })

      describe('a group with one attempt per message', () => {
        it('claims no more than it handles, so that a crash costs no more', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { maxAttempts: 1 })
          await tm.publishBatch('work', range(1, 5))
          const received = eventsOf(tm, 'received')
          const gate = new Gate()
          const group = tm.consumerGroup('work').addConsumer('worker', () => gate.passed, { concurrency: 2 })
          await group.start()
          await happened(received, 1, 'a page')
          gate.open()
          await until(() => received.reduce((sum, { count }) => sum + count, 0) === 5, { what: 'all messages' })
          assert.ok(
            received.every(({ count }) => count <= 2),
            JSON.stringify(received),
          )
        })
      })

      describe('a page whose lease expired', () => {
        it('comes back in a few smaller pages', async () => {
          // With 4 attempts left, 7 is the smallest number whose 4th power reaches 1500.
          assert.deepEqual(await comeBack(store, { messages: 1_500, maxAttempts: 5 }), { leases: 7, dead: 0 })
        })

        it('comes back in smaller ones if fewer attempts are left', async () => {
          // 39 is the smallest number whose square reaches 1500.
          assert.deepEqual(await comeBack(store, { messages: 1_500, maxAttempts: 3 }), { leases: 39, dead: 0 })
        })

        it('comes back one by one on the last attempt', async () => {
          assert.deepEqual(await comeBack(store, { messages: 60, maxAttempts: 2 }), { leases: 60, dead: 0 })
        })

        it('is dead-lettered at once if its attempt was the only one', async () => {
          assert.deepEqual(await comeBack(store, { messages: 60, maxAttempts: 1 }), { leases: 0, dead: 60 })
        })
      })
    })
  }
}

/** A consumer takes all messages as one page and disappears. In how many leases does another get them back? */
async function comeBack(
  store: ConformanceStore,
  { messages, maxAttempts }: { messages: number; maxAttempts: number },
): Promise<{ leases: number; dead: number }> {
  await using database = await store.fresh()
  const [here, there] = [await database.open(), await database.open()]
  await here.configureTopic('work', { maxAttempts })
  await here.publishBatch('work', range(1, messages))
  await receive(here.reader('work', { batchSize: messages }))
  assert.equal((await groupOf(here, 'work')).inFlight, messages)
  await database.expireLeases()

  const received = eventsOf(there, 'received')
  const reader = there.reader('work', { batchSize: messages })
  const back: unknown[] = []
  for (let delivery = await reader.poll(0); delivery !== null; delivery = await reader.poll(0)) {
    back.push(delivery.payload)
    await delivery.ack()
  }
  const dead = (await groupOf(there, 'work')).deadLetters
  assert.deepEqual(back, dead === 0 ? range(1, messages) : [])
  return { leases: received.length, dead }
}

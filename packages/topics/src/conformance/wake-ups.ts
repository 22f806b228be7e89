import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Delivery, Reader, Tidemark } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { collect, happened, payloadsOf, range, receive, soon } from './consuming.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'
import { spawn } from './spawn.ts'
import { until } from './until.ts'

/** A message received with this interval was not found by polling. */
const NEVER = { sweepInterval: '1h' } as const

export function wakeUps({ stores, shared }: ConformanceStores): void {
  for (const store of stores) {
    describe(store.name, () => {
      it('wakes a waiting receive() for what its own process publishes', async () => {
        await using database = await store.fresh()
        const tm = await database.open(NEVER)
        const received = await waiting(tm, tm.reader('work'))
        await tm.publish('work', 'now')
        assert.equal((await soon(received.promise, 'the message')).payload, 'now')
      })

      it('wakes a group that waits', async () => {
        await using database = await store.fresh()
        const tm = await database.open(NEVER)
        const group = tm.consumerGroup('work')
        const deliveries = collect(group)
        await group.start()
        for (const number of range(1, 5)) {
          await tm.publish('work', number)
          await happened(deliveries, number, `message ${number}`)
        }
        assert.deepEqual(payloadsOf(deliveries), range(1, 5))
      })

      it('wakes for what another consumer of the process released', async () => {
        await using database = await store.fresh()
        const tm = await database.open(NEVER)
        const [first, second] = [tm.reader('work'), tm.reader('work')]
        await tm.publish('work', 'passed on')
        const delivery = await first.receive()
        const received = await waiting(tm, second)
        await delivery.nack('not mine', { delay: 0 })
        const passedOn = await soon(received.promise, 'the message')
        assert.deepEqual([passedOn.payload, passedOn.version], ['passed on', 2])
      })

      it('wakes for a dead letter that is redriven', async () => {
        await using database = await store.fresh()
        const tm = await database.open(NEVER)
        await tm.configureTopic('work', { maxAttempts: 1 })
        const [first, second] = [tm.reader('work'), tm.reader('work')]
        await tm.publish('work', 'tried again')
        await (await first.receive()).nack('no')
        const received = await waiting(tm, second)
        await tm.admin.redrive('work', { all: true })
        const again = await soon(received.promise, 'the message')
        assert.equal(again.payload, 'tried again')
      })

      it('wakes for a message whose retry is due', async () => {
        await using database = await store.fresh()
        const tm = await database.open(NEVER)
        const reader = tm.reader('work')
        await tm.publish('work', 'again')
        await (await reader.receive()).nack('later', { delay: '30ms' })
        const again = await receive(reader)
        assert.equal(again.attempt, 2)
        await again.ack()
      })
    })
  }

  for (const store of shared) {
    describe(store.name, () => {
      it('wakes a waiting receive() for what another instance publishes', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(NEVER), await database.open(NEVER)]
        const received = await waiting(here, here.reader('work'))
        await there.publish('work', 'from afar')
        assert.equal((await soon(received.promise, 'the message')).payload, 'from afar')
      })

      it('wakes a waiting receive() for what another process publishes', async () => {
        await using database = await store.fresh()
        const tm = await database.open(NEVER)
        const received = await waiting(tm, tm.reader('work'))
        await spawn(store, 'open-and-publish', [database.url]).exited
        assert.equal((await soon(received.promise, 'the message')).key, null)
      })

      it('wakes for what another instance released', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(NEVER), await database.open(NEVER)]
        const elsewhere = there.reader('work', { batchSize: 2 })
        await there.publishBatch('work', ['in hand', 'not begun'])
        await (await elsewhere.receive()).ack()
        const received = await waiting(here, here.reader('work'))
        await elsewhere.close()
        assert.equal((await soon(received.promise, 'the message')).payload, 'not begun')
      })

      it('takes over when a lease expires, whoever held it', async () => {
        await using database = await store.fresh()
        const [here, there] = [await database.open(NEVER), await database.open(NEVER)]
        await there.configureTopic('work', { lease: '200ms' })
        await there.publish('work', 'abandoned')
        await there.reader('work').receive()
        assert.equal((await receive(here.reader('work'))).version, 2)
      })

      it('needs no wake-up: the sweep alone finds messages', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ sweepInterval: '20ms' })
        await tm.configureTopic('work')
        const received = await waiting(tm, tm.reader('work'))
        // A message stored without a hint wakes nobody.
        await using direct = await openStore(database)
        const topic = await direct.topics.find('work')
        assert.ok(topic)
        const message = { payload: '"by hand"', type: null, key: null, headers: null, messageId: null }
        await direct.log.publish(topic, [message])
        assert.equal((await soon(received.promise, 'the message')).payload, 'by hand')
      })
    })
  }
}

/** A receive() that has polled and found nothing. */
async function waiting(tm: Tidemark, reader: Reader): Promise<{ promise: Promise<Delivery> }> {
  assert.equal(await reader.poll(0), null)
  const looks = tm.metrics().totals.claims
  const promise = reader.receive()
  await until(() => tm.metrics().totals.claims > looks, { what: 'the reader to look' })
  return { promise }
}

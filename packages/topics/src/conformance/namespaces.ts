import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { ClosedError, TopicNotFoundError } from '../index.ts'
import type { ConformanceStores } from './conformance-store.ts'
import { consume, receive, soon } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

export function namespaces({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(store.name, () => {
      describe('two namespaces of one database', () => {
        it('see only their own topics and messages, under the same names', async () => {
          await using database = await store.fresh()
          const [one, two] = [await database.open({ namespace: 'run-1' }), await database.open({ namespace: 'run-2' })]
          assert.deepEqual([one.namespace, two.namespace], ['run-1', 'run-2'])
          await one.configureTopic('batches', { semantics: 'pub-sub', maxAttempts: 2 })
          await two.configureTopic('batches', { semantics: 'queue', maxAttempts: 3 })
          await one.publish('batches', 'of run 1', { messageId: 'same' })
          await two.publish('batches', 'of run 2', { messageId: 'same' })
          const [ofOne, ofTwo] = [one.reader('batches', { group: 'g', from: 'beginning' }), two.reader('batches')]
          assert.deepEqual(await consume(ofOne, 1), ['of run 1'])
          assert.deepEqual(await consume(ofTwo, 1), ['of run 2'])
          assert.deepEqual([await ofOne.poll(0), await ofTwo.poll(0)], [null, null])
          await assert.rejects((await database.open()).admin.describeTopic('batches'), TopicNotFoundError)
        })

        it('do not wake each other', async () => {
          await using database = await store.fresh()
          const options = { sweepInterval: '1h', namespace: 'run-1' } as const
          const [writer, one] = [await database.open(options), await database.open(options)]
          const two = await database.open({ ...options, namespace: 'run-2' })
          const [ofOne, ofTwo] = [one.reader('batches'), two.reader('batches')]
          assert.deepEqual([await ofOne.poll(0), await ofTwo.poll(0)], [null, null])
          const looks = two.metrics().totals.claims + 1
          const [received, other] = [ofOne.receive(), ofTwo.receive()]
          await until(() => two.metrics().totals.claims === looks, { what: 'the other run to wait' })
          await writer.publish('batches', 'of run 1')
          assert.equal((await soon(received, 'the message of run 1')).payload, 'of run 1')
          assert.equal(two.metrics().totals.claims, looks)
          await two.publish('batches', 'of run 2')
          assert.equal((await soon(other, 'the message of run 2')).payload, 'of run 2')
        })
      })

      describe('dropNamespace', () => {
        it('removes everything in it, closes it, and leaves the others', async () => {
          await using database = await store.fresh()
          const [gone, kept] = [await database.open({ namespace: 'gone' }), await database.open({ namespace: 'kept' })]
          await gone.publish('batches', 'gone')
          await kept.publish('batches', 'kept')
          await receive(gone.reader('batches'))
          await gone.dropNamespace()
          await assert.rejects(gone.publish('batches', 'too late'), ClosedError)
          await gone.close()
          const again = await database.open({ namespace: 'gone' })
          await assert.rejects(again.admin.describeTopic('batches'), TopicNotFoundError)
          assert.equal(await again.reader('batches').poll(0), null)
          assert.deepEqual(await consume(kept.reader('batches'), 1), ['kept'])
        })
      })
    })
  }
}

/** A messageId that was ever returned identifies one message for ever, even if ids are reused. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { MessageNotFoundError, type Tidemark } from '../index.ts'
import { type ConformanceStores, has } from './conformance-store.ts'
import { consume, range, receive } from './consuming.ts'
import { it } from './it.ts'

async function publishAll(tm: Tidemark, payloads: readonly unknown[]): Promise<string[]> {
  const refs = await tm.publishBatch('work', payloads)
  return refs.map(({ messageId }) => messageId)
}

export function messageIdentity({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(store.name, () => {
      describe('a messageId', () => {
        it('of a publish that was rolled back is never given to another message', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { semantics: 'pub-sub' })
          const returned = new Set<string>()
          for (const _ of range(1, 3)) {
            const { tx, rollBack } = await database.begin()
            for (const ref of await tm.publishBatch('work', ['undone', 'too'], { tx })) returned.add(ref.messageId)
            returned.add((await tm.publish('work', 'undone', { tx })).messageId)
            await rollBack()
          }
          assert.equal(returned.size, 9)
          for (const messageId of await publishAll(tm, range(1, 9))) assert.ok(!returned.has(messageId), messageId)
          const [undone = ''] = returned
          const reader = tm.reader('work', { group: 'g', from: { messageId: undone } })
          await assert.rejects(reader.ready(), MessageNotFoundError)
        })

        it('of a message that a restore took is never given to another', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { semantics: 'pub-sub', tracking: 'offset' })
          const [kept = ''] = await publishAll(tm, ['kept'])
          const lost = [...(await publishAll(tm, range(1, 5))), (await tm.publish('work', 6)).messageId]
          await database.loseMessagesAfter(1)
          const fresh = await publishAll(tm, range(1, 5))
          assert.equal(new Set([kept, ...lost, ...fresh]).size, 12)
          for (const messageId of lost) {
            const reader = tm.reader('work', { group: `from-${messageId}`, from: { messageId } })
            await assert.rejects(reader.ready(), MessageNotFoundError)
          }
          await assert.rejects(tm.admin.browse('work', { after: lost[0] ?? '' }), MessageNotFoundError)
          const reader = tm.reader('work', { group: 'g', from: { messageId: fresh[2] ?? '' } })
          assert.deepEqual(await consume(reader, 3), [3, 4, 5])
        })

        it('that Tidemark made finds its own message only, when it is published again', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const [kept = '', lost = ''] = await publishAll(tm, ['kept', 'lost'])
          assert.equal((await tm.publish('work', 'kept', { messageId: kept })).duplicate, true)
          await database.loseMessagesAfter(1)
          await publishAll(tm, ['another'])
          const again = await tm.publish('work', 'lost', { messageId: lost })
          assert.deepEqual([again.duplicate, again.id, again.messageId], [false, 3, lost])
          assert.deepEqual(await consume(tm.reader('work'), 3), ['kept', 'another', 'lost'])
        })

        it('is remembered with its own message only', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await publishAll(tm, ['kept'])
          const first = await tm.publish('work', 'given', { messageId: 'given' })
          await database.loseMessagesAfter(1)
          const [other] = await tm.publishBatch('work', ['another'])
          assert.equal(other?.id, first.id)
          const again = await tm.publish('work', 'given', { messageId: 'given' })
          assert.equal(again.duplicate, false)
          assert.notEqual(again.id, first.id)
          assert.deepEqual(await tm.publish('work', 'given', { messageId: 'given' }), { ...again, duplicate: true })
          assert.deepEqual(await consume(tm.reader('work'), 3), ['kept', 'another', 'given'])
        })

        it('is the same wherever the message is seen', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          const backoff = { initial: 1, max: 1 }
          const tracking = has(store, 'tracking') ? 'reference' : 'offset'
          await tm.configureTopic('work', { semantics: 'pub-sub', tracking, maxAttempts: 2, backoff })
          const reader = await tm.reader('work', { group: 'g', batchSize: 10 }).ready()
          await using tailing = await tm.admin.tail('work')
          const ids = [...(await publishAll(tm, range(1, 3))), (await tm.publish('work', 4)).messageId]
          const { tx, commit } = await database.begin()
          ids.push((await tm.publish('work', 5, { tx })).messageId)
          await commit()
          const seen = {
            delivered: [] as string[],
            browsed: (await tm.admin.browse('work')).messages.map(({ messageId }) => messageId),
            completion: (await tm.admin.completion('work')).map(({ messageId }) => messageId),
            tailed: [] as string[],
          }
          for (const _ of ids) seen.tailed.push((await tailing.next()).value?.messageId ?? '')
          for (const _ of ids) {
            const delivery = await receive(reader)
            seen.delivered.push(delivery.messageId)
            await delivery.nack(new Error('not yet'))
          }
          for (const list of Object.values(seen)) assert.deepEqual(list, ids)
          for (const _ of ids) await (await receive(reader)).nack(new Error('never'))
          const letters = await tm.admin.deadLetters('work')
          assert.deepEqual(letters.map(({ messageId }) => messageId).sort(), ids.toSorted())
          assert.equal((await tm.admin.redrive('work', { all: true })).redriven, 5)
          await reader.close()
          const { messages, receipt } = await tm.pull('work', 'g', { max: 10 })
          assert.deepEqual(messages.map(({ messageId }) => messageId).sort(), ids.toSorted())
          await database.expireLeases()
          assert.ok(receipt)
          await tm.admin.resetGroup('work', 'g', 'now')
          const stale = await tm.settle(receipt, { acks: [messages[0]?.id ?? 0] }).catch(error => error)
          assert.equal(stale.messageId, messages[0]?.messageId)
        })

        it('of a dead letter outlives its message, whose id may be another’s', async () => {
          await using database = await store.fresh()
          const tm = await database.open()
          await tm.configureTopic('work', { semantics: 'pub-sub', maxAttempts: 1 })
          const reader = await tm.reader('work', { group: 'g' }).ready()
          await publishAll(tm, ['kept'])
          await (await receive(reader)).ack()
          const [lost = ''] = await publishAll(tm, ['lost'])
          await (await receive(reader)).nack(new Error('never'))
          await reader.close()
          await database.loseMessagesAfter(1)
          await publishAll(tm, ['another'])
          const [letter] = await tm.admin.deadLetters('work')
          assert.equal(letter?.messageId, lost)
          assert.deepEqual(await tm.admin.redrive('work', { all: true }), { redriven: 0, gone: 1, orphaned: 0 })
          assert.equal((await tm.admin.deadLetters('work')).length, 1)
        })
      })
    })
  }
}

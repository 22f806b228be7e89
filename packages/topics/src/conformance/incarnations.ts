/** A namespace that is dropped and recreated is another one, even if its ids are the same. */
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import {
  ClosedError,
  MessageNotFoundError,
  NamespaceGoneError,
  SubscriptionGoneError,
  type Tidemark,
  TopicNotFoundError,
} from '../index.ts'
import { type ConformanceDatabase, type ConformanceStores, has } from './conformance-store.ts'
import { collect, consume, eventsOf, Gate, happened, payloadsOf, range, receive, soon } from './consuming.ts'
import { it } from './it.ts'
import { until } from './until.ts'

const PUB_SUB = { semantics: 'pub-sub' } as const

/** Dropped by one process and created by another, with the same names in the same order: all ids are reused. */
async function makeAnew(database: ConformanceDatabase, namespace: string): Promise<Tidemark> {
  await (await database.open({ namespace })).dropNamespace()
  const tm = await database.open({ namespace, sweepInterval: '20ms' })
  await tm.configureTopic('events', PUB_SUB)
  return tm
}

/** Refused by a store without reference tracking, whatever the namespace. */
const OF_TRACKING = [
  'setTracking',
  'completion',
  'completeOrphans',
  'startBackfill',
  'cancelBackfill',
  'the job backfills',
]

export function incarnations({ shared }: ConformanceStores): void {
  for (const store of shared) {
    // On SQLite the tables of the default namespace are in the application's file; other namespaces have their own
    // file, which is removed.
    for (const namespace of ['default', 'run-7']) {
      describe(`${store.name}: an old process, after its namespace '${namespace}' was dropped and recreated`, () => {
        it('receives no message of the new one; its group stops with the reason', async () => {
          await using database = await store.fresh()
          const old = await database.open({ namespace, sweepInterval: '20ms' })
          await old.configureTopic('events', PUB_SUB)
          const [stopped, gone] = [eventsOf(old, 'group-stopped'), eventsOf(old, 'namespace-gone')]
          const group = old.consumerGroup('events', 'old')
          const taken = collect(group)
          await group.start()
          await old.publish('events', 'of the old one')
          await until(() => taken.length === 1, { what: 'the old group to work' })
          const anew = await makeAnew(database, namespace)
          const reader = await anew.reader('events', { group: 'new' }).ready()
          await anew.publishBatch('events', range(1, 100))
          assert.deepEqual(await consume(reader, 100), range(1, 100))
          const [event] = await happened(stopped, 1, 'the old group to stop')
          assert.ok(event?.reason instanceof NamespaceGoneError, String(event?.reason))
          assert.equal(event.reason.code, 'TIDEMARK_NAMESPACE_GONE')
          assert.match(event.reason.message, /open it again/i)
          assert.deepEqual(
            gone.map(({ namespace: name, error }) => [name, error]),
            [[namespace, event.reason]],
          )
          assert.equal(group.running, false)
          assert.deepEqual(payloadsOf(taken), ['of the old one'])
          const health = await anew.admin.groups('events')
          assert.deepEqual(
            health.map(each => [each.group, each.processed]),
            [['new', health[0]?.processed]],
          )
          await soon(old.close(), 'the old one to close')
        })

        it('publishes nothing into it, in whatever way', async () => {
          await using database = await store.fresh()
          const old = await database.open({ namespace })
          await old.configureTopic('events', PUB_SUB)
          await old.publish('events', 'of the old one', { messageId: 'm' })
          const anew = await makeAnew(database, namespace)
          const calls: Record<string, () => Promise<unknown>> = {
            publish: () => old.publish('events', 'late'),
            'publish with a messageId': () => old.publish('events', 'late', { messageId: 'late' }),
            'publish to a topic it has not met': () => old.publish('other', 'late'),
            publishBatch: () => old.publishBatch('events', range(1, 10)),
            publishMessages: () => old.publishMessages('events', [{ payload: 1, messageId: 'x' }, { payload: 2 }]),
            configureTopic: () => old.configureTopic('other'),
            'configureTopic of the same': () => old.configureTopic('events', { maxAttempts: 7 }),
            writer: () => old.writer('events').send('late'),
          }
          for (const [what, call] of Object.entries(calls)) await assert.rejects(call(), NamespaceGoneError, what)
          await old.close()
          assert.deepEqual(
            (await anew.admin.topics()).map(({ topic, config }) => [topic, config.maxAttempts]),
            [['events', 5]],
          )
          assert.deepEqual((await anew.admin.browse('events')).messages, [])
          assert.equal((await anew.publish('events', 'new', { messageId: 'm' })).duplicate, false)
        })

        it('is told at once by every waiting call', async () => {
          await using database = await store.fresh()
          const old = await database.open({ namespace, sweepInterval: '20ms' })
          await old.configureTopic('events', PUB_SUB)
          const reader = await old.reader('events', { group: 'r' }).ready()
          const tailing = await old.admin.tail('events')
          const waiting: Promise<unknown>[] = [
            reader.receive(),
            old.pull('events', 'p', { wait: '1h' }),
            tailing.next(),
          ]
          for (const promise of waiting) promise.catch(() => undefined)
          await until(async () => (await old.admin.groups('events')).length === 2, { what: 'both groups' })
          const anew = await makeAnew(database, namespace)
          for (const promise of waiting) await assert.rejects(soon(promise, 'an answer'), NamespaceGoneError)
          await assert.rejects(reader.poll(0), NamespaceGoneError)
          await assert.rejects(old.pull('events', 'p'), NamespaceGoneError)
          await assert.rejects(old.reader('events', { group: 'another' }).ready(), NamespaceGoneError)
          const late = old.consumerGroup('events', 'late').addConsumer('c', () => undefined)
          await assert.rejects(late.start(), NamespaceGoneError)
          assert.deepEqual(await anew.admin.groups('events'), [])
          await soon(old.close(), 'the old one to close')
        })

        it('settles nothing there', async () => {
          await using database = await store.fresh()
          const old = await database.open({ namespace, sweepInterval: '20ms' })
          await old.configureTopic('events', PUB_SUB)
          const reader = await old.reader('events', { group: 'g' }).ready()
          await old.publishBatch('events', range(1, 3))
          const held = await receive(reader)
          const { receipt } = await old.pull('events', 'g')
          assert.ok(receipt)
          const anew = await makeAnew(database, namespace)
          await anew.reader('events', { group: 'g' }).ready()
          await anew.publishBatch('events', range(1, 3))
          const pulled = await anew.pull('events', 'g', { max: 3 })
          await assert.rejects(held.extend('1h'), NamespaceGoneError)
          await assert.rejects(held.ack(), NamespaceGoneError)
          await assert.rejects(old.settle(receipt, { acks: 'all' }), NamespaceGoneError)
          await assert.rejects(old.extend(receipt), NamespaceGoneError)
          // A receipt of the old namespace is not valid in the new one either.
          const refused = await anew.settle(receipt, { acks: 'all' }).catch(error => error)
          assert.equal(refused.code, 'TIDEMARK_INVALID_RECEIPT')
          const health = await anew.admin.groups('events')
          assert.equal(health.find(each => each.group === 'g')?.inFlight, 3)
          assert.ok(pulled.receipt)
          await anew.settle(pulled.receipt, { acks: 'all' })
          await soon(old.close(), 'the old one to close')
        })

        it('abandons its running handlers, and ends', async () => {
          await using database = await store.fresh()
          const old = await database.open({ namespace, sweepInterval: '20ms' })
          await old.configureTopic('events', PUB_SUB)
          const gate = new Gate()
          const begun: unknown[] = []
          const group = old.consumerGroup('events', 'g').addConsumer('c', async ({ payload }) => {
            begun.push(payload)
            await gate.passed
          })
          await group.start()
          await old.publishBatch('events', range(1, 5))
          await until(() => begun.length > 0, { what: 'a handler to begin' })
          const anew = await makeAnew(database, namespace)
          const stopped = eventsOf(old, 'group-stopped')
          await assert.rejects(old.publish('events', 1), NamespaceGoneError)
          gate.open()
          const [event] = await happened(stopped, 1, 'the group to stop')
          assert.ok(event?.reason instanceof NamespaceGoneError)
          await soon(old.close(), 'the old one to close')
          assert.deepEqual((await anew.admin.describeTopic('events')).groups, [])
        })

        it('runs no job and no admin operation there', async () => {
          await using database = await store.fresh()
          const old = await database.open({ namespace })
          const tracking = has(store, 'tracking') ? 'reference' : 'offset'
          await old.configureTopic('events', { ...PUB_SUB, tracking })
          await old.reader('events', { group: 'g' }).ready()
          const [message] = await old.publishBatch('events', [1])
          const anew = await makeAnew(database, namespace)
          if (tracking === 'reference') await anew.admin.setTracking('events', tracking)
          await anew.reader('events', { group: 'g' }).ready()
          await anew.publishBatch('events', range(1, 5))
          const { admin } = old
          const calls: Record<string, () => Promise<unknown>> = {
            topics: () => admin.topics(),
            groups: () => admin.groups('events'),
            describeTopic: () => admin.describeTopic('events'),
            pauseGroup: () => admin.pauseGroup('events', 'g'),
            resumeGroup: () => admin.resumeGroup('events', 'g'),
            cancelGroup: () => admin.cancelGroup('events', 'g'),
            resurrectGroup: () => admin.resurrectGroup('events', 'g'),
            resetGroup: () => admin.resetGroup('events', 'g', 'now'),
            removeGroup: () => admin.removeGroup('events', 'g'),
            setTracking: () => admin.setTracking('events', 'offset'),
            completion: () => admin.completion('events'),
            completeOrphans: () => admin.completeOrphans('events', { olderThan: 0 }),
            browse: () => admin.browse('events'),
            'browse after a message': () => admin.browse('events', { after: message?.messageId ?? '' }),
            tail: () => admin.tail('events'),
            deadLetters: () => admin.deadLetters('events'),
            redrive: () => admin.redrive('events', { all: true }),
            discard: () => admin.discard('events', { all: true }),
            startBackfill: () => admin.startBackfill('events', 'g'),
            cancelBackfill: () => admin.cancelBackfill('events', 'g'),
            health: () => admin.health(),
            deleteTopic: () => admin.deleteTopic('events'),
            'the job messages': () => admin.jobs.messages.runOnce(),
            'the job dead-groups': () => admin.jobs['dead-groups'].runOnce(),
            'the job subscriptions': () => admin.jobs.subscriptions.runOnce(),
            'the job backfills': () => admin.jobs.backfills.runOnce(),
            dropNamespace: () => old.dropNamespace(),
          }
          for (const [what, call] of Object.entries(calls)) {
            if (tracking === 'offset' && OF_TRACKING.includes(what)) continue
            const refused = await call().catch(error => error)
            const isTold = refused instanceof NamespaceGoneError || refused instanceof ClosedError
            assert.ok(isTold, `${what}: ${refused}`)
          }
          await soon(old.close(), 'the old one to close')
          const [group] = await anew.admin.groups('events')
          assert.deepEqual([group?.status, group?.lagMessages], ['ACTIVE', 5])
          assert.deepEqual((await anew.admin.health()).jobs, [])
          if (tracking === 'offset') return
          assert.equal((await anew.admin.completion('events', { unfinished: true })).length, 5)
        })

        it('is told that it is gone, if nobody has recreated it', async () => {
          await using database = await store.fresh()
          const old = await database.open({ namespace, sweepInterval: '20ms' })
          await old.configureTopic('events', PUB_SUB)
          const stopped = eventsOf(old, 'group-stopped')
          await old
            .consumerGroup('events', 'g')
            .addConsumer('c', () => undefined)
            .start()
          await (await database.open({ namespace })).dropNamespace()
          await assert.rejects(old.publish('events', 1), NamespaceGoneError)
          const [event] = await happened(stopped, 1, 'the group to stop')
          assert.ok(event?.reason instanceof NamespaceGoneError)
          await assert.rejects(old.admin.jobs.messages.runOnce(), Error)
          await soon(old.close(), 'the old one to close')
        })
      })
    }

    describe(`${store.name}: a record whose id was given again`, () => {
      // As after a restore: what was created since the copy is gone, and its ids are reused.
      it('of a group is refused: it stops, and takes nothing of the other', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ sweepInterval: '20ms' })
        await tm.configureTopic('events', PUB_SUB)
        const stopped = eventsOf(tm, 'group-stopped')
        const group = tm.consumerGroup('events', 'g')
        const taken = collect(group)
        await group.start()
        const reader = await tm.reader('events', { group: 'r' }).ready()
        await database.replaceIdentity('groups')
        const other = await database.open()
        await other.publishBatch('events', range(1, 3))
        const [event] = await happened(stopped, 1, 'the group to stop')
        assert.ok(event?.reason instanceof SubscriptionGoneError)
        await assert.rejects(reader.receive(), SubscriptionGoneError)
        assert.deepEqual(taken, [])
        const pulled = await other.pull('events', 'g', { max: 10 })
        assert.deepEqual(
          pulled.messages.map(({ payload }) => payload),
          [1, 2, 3],
        )
      })

      it('of a topic is refused: what is published goes to the topic of that name', async () => {
        await using database = await store.fresh()
        const tm = await database.open({ sweepInterval: '20ms' })
        await tm.configureTopic('events', PUB_SUB)
        const { messageId } = await tm.publish('events', 1)
        const tailing = await tm.admin.tail('events')
        const tailed = tailing.next()
        tailed.catch(() => undefined)
        await database.replaceIdentity('topics')
        await assert.rejects(tm.publish('events', 2), TopicNotFoundError)
        await assert.rejects(soon(tailed, 'the tail to end'), TopicNotFoundError)
        const again = await tm.publish('events', 3)
        const { messages } = await tm.admin.browse('events', { order: 'newest-first', limit: 1 })
        assert.equal(messages[0]?.id, again.id)
        const reader = tm.reader('events', { group: 'g', from: { messageId } })
        await assert.rejects(reader.ready(), MessageNotFoundError)
      })
    })
  }
}

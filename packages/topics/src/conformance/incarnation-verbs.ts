/** Calls every store method with the records of an old process: each is refused, and nothing changes. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe } from 'node:test'
import { DEFAULT_BACKFILL } from '../backfill/backfill-plan.ts'
import { NamespaceGoneError, SubscriptionGoneError, TopicNotFoundError } from '../index.ts'
import type { Store, StoreConcepts } from '../stores/store.ts'
import type { SubscriptionRecord } from '../stores/subscription-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'
import { type ConformanceStore, type ConformanceStores, has } from './conformance-store.ts'
import { it } from './it.ts'
import { openStore } from './open-store.ts'

type Known = {
  readonly topic: TopicRecord
  readonly subscription: SubscriptionRecord
  /** Token of a lease that the old process holds. */
  readonly token: string
  readonly place: string
}
type Verb =
  | { [C in keyof StoreConcepts]: `${C}.${keyof StoreConcepts[C] & string}` }[keyof StoreConcepts]
  | Exclude<keyof Store, keyof StoreConcepts | 'capabilities' | 'location'>
/** The answer to records of another incarnation, in a namespace that is still the same. */
type Answer = 'topic' | 'group' | 'nothing'
type Call = { readonly call: (store: Store, known: Known) => unknown; readonly answer: Answer }

const MESSAGE = { payload: '1', type: null, key: null, headers: null, messageId: null }
const BEAT = { processed: 1, failed: 1, filtered: 1 }
const lock = () => ({ token: randomUUID(), ttlMs: 60_000 })
const REQUEST = {
  consumer: 'c',
  limit: 10,
  suspects: 'alone',
  sweep: true,
  forget: [],
  shared: false,
  leaseMs: null,
} as const
const LOOK = { after: 0, limit: 10, unfinished: false }

/** All methods: a new one has to be added here. */
const VERBS: { readonly [verb in Verb]: Call | null } = {
  'topics.find': { call: store => store.topics.find('events'), answer: 'nothing' },
  // Reads on the connection of a caller's own transaction.
  'topics.findIn': null,
  'topics.findInSync': null,
  'topics.configure': { call: store => store.topics.configure('another', {}), answer: 'nothing' },
  'inspection.describe': { call: (store, { topic }) => store.inspection.describe(topic), answer: 'topic' },
  'log.publish': { call: (store, { topic }) => store.log.publish(topic, [MESSAGE, MESSAGE]), answer: 'topic' },
  'subscriptions.subscribe': {
    call: (store, { topic }) => store.subscriptions.subscribe(topic, 'another', 'beginning'),
    answer: 'topic',
  },
  'subscriptions.setStatus': {
    call: (store, known) => store.subscriptions.setStatus(known.topic, known.subscription, 'PAUSED'),
    answer: 'group',
  },
  'leases.claim': {
    call: async (store, { topic, subscription }) => {
      const { status } = await store.leases.claim({ topic, subscription, ...REQUEST })
      if (status === 'GONE') throw new SubscriptionGoneError('events', 'g')
    },
    answer: 'group',
  },
  'leases.settle': {
    call: async (store, { token }) => {
      const settlement = { size: 1, maxAttempts: 1, acks: 'all', nacks: [], releases: [] } as const
      const [result] = await store.leases.settle([{ token, ...settlement }])
      assert.deepEqual(result?.stale, [0])
    },
    answer: 'nothing',
  },
  'leases.extend': {
    call: async (store, { token }) => assert.equal(await store.leases.extend(token, 60_000), false),
    answer: 'nothing',
  },
  'leases.size': {
    call: async (store, { token }) => assert.equal(await store.leases.size(token), undefined),
    answer: 'nothing',
  },
  'leases.receiptKey': { call: store => store.leases.receiptKey(), answer: 'nothing' },
  'deadLetters.list': { call: (store, { topic }) => store.deadLetters.list(topic, { limit: 10 }), answer: 'topic' },
  'subscriptions.find': { call: (store, { topic }) => store.subscriptions.find(topic, 'g'), answer: 'topic' },
  'heartbeats.send': {
    call: async (store, { subscription: { id, uid } }) => {
      const [beat] = await store.heartbeats.send([{ subscriptionId: id, subscriptionUid: uid, ...BEAT }])
      if (beat?.status === 'GONE') throw new SubscriptionGoneError('events', 'g')
    },
    answer: 'group',
  },
  'heartbeats.consumers': { call: (store, { topic }) => store.heartbeats.consumers(topic), answer: 'topic' },
  'subscriptions.resurrect': {
    call: (store, { topic, subscription }) =>
      store.subscriptions.resurrect(topic, subscription, { mode: 'continue', limit: null, plan: DEFAULT_BACKFILL }),
    answer: 'group',
  },
  'heartbeats.detectDead': { call: store => store.heartbeats.detectDead(), answer: 'nothing' },
  'inspection.unsubscribedTopics': { call: store => store.inspection.unsubscribedTopics(), answer: 'nothing' },
  'subscriptions.ended': { call: store => store.subscriptions.ended(0), answer: 'nothing' },
  'subscriptions.acknowledgeLoss': {
    call: (store, { topic, subscription }) => store.subscriptions.acknowledgeLoss(topic, subscription),
    answer: 'group',
  },
  'subscriptions.remove': {
    call: (store, { topic, subscription }) => store.subscriptions.remove(topic, subscription),
    // Removing what does not exist succeeds.
    answer: 'nothing',
  },
  'jobs.lock': { call: store => store.jobs.lock('messages', lock()), answer: 'nothing' },
  'jobs.renew': { call: store => store.jobs.renew('messages', lock()), answer: 'nothing' },
  'jobs.unlock': { call: store => store.jobs.unlock('messages', randomUUID(), null), answer: 'nothing' },
  'jobs.list': { call: store => store.jobs.list(), answer: 'nothing' },
  'topics.list': { call: store => store.topics.list(), answer: 'nothing' },
  'log.cleanUp': { call: (store, { topic }) => store.log.cleanUp(topic, 10), answer: 'topic' },
  'subscriptions.zombies': { call: store => store.subscriptions.zombies(), answer: 'nothing' },
  'subscriptions.forceAdvance': {
    call: (store, { topic, subscription }) => store.subscriptions.forceAdvance(topic, subscription),
    answer: 'group',
  },
  'tracking.switch': { call: (store, { topic }) => store.tracking.switch(topic, 'offset'), answer: 'topic' },
  'tracking.fill': { call: (store, { topic }) => store.tracking.fill(topic, 10), answer: 'topic' },
  'tracking.clearBits': { call: store => store.tracking.clearBits(10), answer: 'nothing' },
  'tracking.completion': { call: (store, { topic }) => store.tracking.completion(topic, LOOK), answer: 'topic' },
  'tracking.completeOrphans': { call: (store, { topic }) => store.tracking.completeOrphans(topic, 0), answer: 'topic' },
  'backfills.start': {
    call: (store, { topic, subscription }) => store.backfills.start(topic, subscription, 'beginning', DEFAULT_BACKFILL),
    answer: 'group',
  },
  'backfills.take': {
    call: (store, { subscription }) => store.backfills.take(randomUUID(), 60_000, subscription),
    answer: 'group',
  },
  'backfills.runBatch': {
    call: async (store, { subscription }) => {
      const batch = { token: randomUUID(), limit: 10, ttlMs: 60_000 }
      assert.equal(await store.backfills.runBatch(subscription.id, batch), 'lost')
    },
    answer: 'nothing',
  },
  'backfills.setStatus': {
    call: (store, { topic, subscription }) => store.backfills.setStatus(topic, subscription, 'CANCELLED'),
    answer: 'group',
  },
  'backfills.find': { call: (store, { subscription }) => store.backfills.find(subscription), answer: 'group' },
  // Times a write that belongs to no record.
  'log.publishSync': null,
  'log.probe': null,
  'leases.list': { call: (store, { topic }) => store.leases.list(topic, { limit: 10, named: 10 }), answer: 'topic' },
  'leases.release': { call: (store, { topic, token }) => store.leases.release(topic, token), answer: 'topic' },
  'topics.delete': { call: (store, { topic }) => store.topics.delete(topic), answer: 'topic' },
  'subscriptions.resetCursor': {
    call: (store, { topic, subscription }) =>
      store.subscriptions.resetCursor(topic, subscription, 'now', DEFAULT_BACKFILL),
    answer: 'group',
  },
  'subscriptions.previewReset': {
    call: (store, { topic, subscription }) => store.subscriptions.previewReset(topic, subscription, 'now', 10),
    answer: 'group',
  },
  'topics.preview': { call: (store, { topic }) => store.topics.preview(topic, {}), answer: 'topic' },
  'log.find': { call: (store, { topic }) => store.log.find(topic, 'm'), answer: 'topic' },
  'log.browse': {
    call: (store, { topic }) => store.log.browse(topic, { newestFirst: false, limit: 10 }),
    answer: 'topic',
  },
  'log.tail': { call: (store, { topic, place }) => store.log.tail(topic, place, 10), answer: 'topic' },
  'leases.retries': {
    call: (store, { topic, subscription }) => store.leases.retries(topic, subscription, { after: 0, limit: 10 }),
    answer: 'group',
  },
  'deadLetters.errors': {
    call: (store, { topic }) => store.deadLetters.errors({ topic, newestFirst: true, limit: 10 }),
    answer: 'topic',
  },
  'deadLetters.find': { call: (store, { topic }) => store.deadLetters.find(topic, 1), answer: 'topic' },
  'deadLetters.redrive': {
    call: (store, { topic }) => store.deadLetters.redrive(topic, { limit: 10 }),
    answer: 'topic',
  },
  'deadLetters.undeliverable': {
    call: (store, { topic }) => store.deadLetters.undeliverable(topic, { limit: 0 }),
    answer: 'topic',
  },
  'deadLetters.discard': {
    call: (store, { topic }) => store.deadLetters.discard(topic, { limit: 10 }),
    answer: 'topic',
  },
  'inspection.lanes': {
    call: (store, { topic }) => store.inspection.lanes(topic, { buckets: 10, most: 10 }),
    answer: 'topic',
  },
  'inspection.messageStates': {
    call: (store, { topic }) => store.inspection.messageStates(topic, 1),
    answer: 'topic',
  },
  'leases.holders': {
    call: (store, { topic, subscription }) => store.leases.holders(topic, subscription),
    answer: 'group',
  },
  'inspection.stats': { call: store => store.inspection.stats(10, true), answer: 'nothing' },
  'inspection.examine': { call: store => store.inspection.examine(10), answer: 'nothing' },
  'inspection.size': { call: store => store.inspection.size(), answer: 'nothing' },
  // Does not read a server's own clock.
  'inspection.clock': null,
  watch: null,
  hint: null,
  'leases.forgetReader': null,
  'inspection.poolUse': null,
  onGone: null,
  dropNamespace: { call: store => store.dropNamespace(), answer: 'nothing' },
  close: null,
}

/** The same names in the same order get the same ids. */
async function begin(store: Store, of: ConformanceStore): Promise<Known> {
  const tracking = has(of, 'tracking') ? 'reference' : 'offset'
  const topic = await store.topics.configure('events', { semantics: 'pub-sub', tracking })
  const subscription = await store.subscriptions.subscribe(topic, 'g', 'now')
  await store.log.publish(topic, [MESSAGE])
  const { lease } = await store.leases.claim({ topic, subscription, ...REQUEST })
  assert.ok(lease)
  const { place } = await store.log.tail(topic, null, 0)
  await store.log.publish(topic, [MESSAGE, MESSAGE])
  return { topic, subscription, token: lease.token, place }
}

const callsOf = (store: ConformanceStore) =>
  Object.entries(VERBS)
    .flatMap(([verb, each]) => (each === null ? [] : [{ verb, ...each }]))
    .filter(({ verb }) => has(store, 'tracking') || !/^(tracking|backfills)\./.test(verb))
/** The first refusal ends a process, so each method has its own; on PostgreSQL each has a few connections. */
const AT_ONCE = 12

export function incarnationVerbs({ shared }: ConformanceStores): void {
  for (const store of shared) {
    const all = callsOf(store)
    describe(`${store.name}: what an old process knows of a namespace that was recreated`, () => {
      for (let from = 0; from < all.length; from += AT_ONCE) {
        const calls = all.slice(from, from + AT_ONCE)
        it(`is refused, and changes nothing: ${calls.map(({ verb }) => verb).join(', ')}`, async () => {
          await using database = await store.fresh()
          await using processes = new AsyncDisposableStack()
          const open = async () => processes.use(await openStore(database))
          const known = await begin(await open(), store)
          const old = await Promise.all(calls.map(async call => ({ ...call, process: await open() })))
          await (await database.open({ maintenance: false })).dropNamespace()
          const { topic, subscription } = await begin(await open(), store)
          assert.deepEqual([topic.id, subscription.id], [known.topic.id, known.subscription.id])
          const before = await database.contents()
          for (const { verb, call, process } of old) {
            const told: unknown[] = []
            process.onGone(error => told.push(error))
            await assert.rejects(async () => await call(process, known), NamespaceGoneError, verb)
            await assert.rejects(process.topics.list(), NamespaceGoneError, verb)
            assert.equal(told.length, 1, verb)
            assert.deepEqual(await database.contents(), before, verb)
          }
        })
      }
    })

    describe(`${store.name}: records of another incarnation`, () => {
      it('are refused by every method that takes them, and nothing is changed', async () => {
        await using database = await store.fresh()
        await using direct = await openStore(database)
        const known = await begin(direct, store)
        const other = {
          topic: { ...known, topic: { ...known.topic, uid: known.topic.uid - 1 } },
          group: { ...known, subscription: { ...known.subscription, uid: known.subscription.uid - 1 } },
        }
        const errors = { topic: TopicNotFoundError, group: SubscriptionGoneError }
        const before = await database.contents()
        for (const { verb, call, answer } of all) {
          if (answer === 'nothing') continue
          await assert.rejects(async () => await call(direct, other[answer]), errors[answer], verb)
          assert.deepEqual(await database.contents(), before, verb)
        }
      })
    })
  }
}

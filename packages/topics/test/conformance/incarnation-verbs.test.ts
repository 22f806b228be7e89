/** Every verb of a store, with what an old process knows: refused, and nothing changed. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { NamespaceGoneError, SubscriptionGoneError, TopicNotFoundError } from 'tidemark'
import { DEFAULT_BACKFILL } from '../../src/backfill/backfill-plan.ts'
import type { Store, SubscriptionRecord, TopicRecord } from '../../src/stores/store.ts'
import { openStore } from './reference.ts'
import { SHARED_STORES, type TestDatabase } from './stores.ts'

type Known = {
  readonly topic: TopicRecord
  readonly subscription: SubscriptionRecord
  /** Of a lease that the old process holds. */
  readonly token: string
  readonly place: string
}
type Verb = Exclude<keyof Store, 'capabilities' | 'location'>
/** What the records of another incarnation, in a namespace that is still the same, are answered with. */
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

/** All of them: a verb that is added has to be added here. */
const VERBS: { readonly [verb in Verb]: Call | null } = {
  topic: { call: store => store.topic('events'), answer: 'nothing' },
  // Looks on the connection of a caller's own transaction.
  topicIn: null,
  configureTopic: { call: store => store.configureTopic('another', {}), answer: 'nothing' },
  describeTopic: { call: (store, { topic }) => store.describeTopic(topic), answer: 'topic' },
  publish: { call: (store, { topic }) => store.publish(topic, [MESSAGE, MESSAGE]), answer: 'topic' },
  subscribe: { call: (store, { topic }) => store.subscribe(topic, 'another', 'beginning'), answer: 'topic' },
  setStatus: { call: (store, known) => store.setStatus(known.topic, known.subscription, 'PAUSED'), answer: 'group' },
  claim: {
    call: async (store, { topic, subscription }) => {
      const { status } = await store.claim({ topic, subscription, ...REQUEST })
      if (status === 'GONE') throw new SubscriptionGoneError('events', 'g')
    },
    answer: 'group',
  },
  settle: {
    call: async (store, { token }) => {
      const settlement = { size: 1, maxAttempts: 1, acks: 'all', nacks: [], releases: [] } as const
      const [result] = await store.settle([{ token, ...settlement }])
      assert.deepEqual(result?.stale, [0])
    },
    answer: 'nothing',
  },
  extend: {
    call: async (store, { token }) => assert.equal(await store.extend(token, 60_000), false),
    answer: 'nothing',
  },
  leaseSize: {
    call: async (store, { token }) => assert.equal(await store.leaseSize(token), undefined),
    answer: 'nothing',
  },
  receiptKey: { call: store => store.receiptKey(), answer: 'nothing' },
  deadLetters: { call: (store, { topic }) => store.deadLetters(topic, { limit: 10 }), answer: 'topic' },
  subscription: { call: (store, { topic }) => store.subscription(topic, 'g'), answer: 'topic' },
  heartbeat: {
    call: async (store, { subscription: { id, uid } }) => {
      const [beat] = await store.heartbeat([{ subscriptionId: id, subscriptionUid: uid, ...BEAT }])
      if (beat?.status === 'GONE') throw new SubscriptionGoneError('events', 'g')
    },
    answer: 'group',
  },
  consumers: { call: (store, { topic }) => store.consumers(topic), answer: 'topic' },
  resurrect: {
    call: (store, { topic, subscription }) =>
      store.resurrect(topic, subscription, { mode: 'continue', limit: null, plan: DEFAULT_BACKFILL }),
    answer: 'group',
  },
  detectDead: { call: store => store.detectDead(), answer: 'nothing' },
  unsubscribedTopics: { call: store => store.unsubscribedTopics(), answer: 'nothing' },
  endedSubscriptions: { call: store => store.endedSubscriptions(0), answer: 'nothing' },
  acknowledgeLoss: {
    call: (store, { topic, subscription }) => store.acknowledgeLoss(topic, subscription),
    answer: 'group',
  },
  removeSubscription: {
    call: (store, { topic, subscription }) => store.removeSubscription(topic, subscription),
    // What is not there is removed.
    answer: 'nothing',
  },
  lockJob: { call: store => store.lockJob('messages', lock()), answer: 'nothing' },
  renewJob: { call: store => store.renewJob('messages', lock()), answer: 'nothing' },
  unlockJob: { call: store => store.unlockJob('messages', randomUUID(), null), answer: 'nothing' },
  jobs: { call: store => store.jobs(), answer: 'nothing' },
  topics: { call: store => store.topics(), answer: 'nothing' },
  cleanUp: { call: (store, { topic }) => store.cleanUp(topic, 10), answer: 'topic' },
  zombies: { call: store => store.zombies(), answer: 'nothing' },
  forceAdvance: { call: (store, { topic, subscription }) => store.forceAdvance(topic, subscription), answer: 'group' },
  setTracking: { call: (store, { topic }) => store.setTracking(topic, 'offset'), answer: 'topic' },
  fillTracking: { call: (store, { topic }) => store.fillTracking(topic, 10), answer: 'topic' },
  clearBits: { call: store => store.clearBits(10), answer: 'nothing' },
  completion: { call: (store, { topic }) => store.completion(topic, LOOK), answer: 'topic' },
  completeOrphans: { call: (store, { topic }) => store.completeOrphans(topic, 0), answer: 'topic' },
  startBackfill: {
    call: (store, { topic, subscription }) => store.startBackfill(topic, subscription, 'beginning', DEFAULT_BACKFILL),
    answer: 'group',
  },
  takeBackfill: {
    call: (store, { subscription }) => store.takeBackfill(randomUUID(), 60_000, subscription),
    answer: 'group',
  },
  backfillBatch: {
    call: async (store, { subscription }) => {
      const batch = { token: randomUUID(), limit: 10, ttlMs: 60_000 }
      assert.equal(await store.backfillBatch(subscription.id, batch), 'lost')
    },
    answer: 'nothing',
  },
  setBackfillStatus: {
    call: (store, { topic, subscription }) => store.setBackfillStatus(topic, subscription, 'CANCELLED'),
    answer: 'group',
  },
  backfill: { call: (store, { subscription }) => store.backfill(subscription), answer: 'group' },
  // Times a write that is nobody's.
  probe: null,
  claims: { call: (store, { topic }) => store.claims(topic, { limit: 10, named: 10 }), answer: 'topic' },
  releaseClaim: { call: (store, { topic, token }) => store.releaseClaim(topic, token), answer: 'topic' },
  deleteTopic: { call: (store, { topic }) => store.deleteTopic(topic), answer: 'topic' },
  resetCursor: {
    call: (store, { topic, subscription }) => store.resetCursor(topic, subscription, 'now', DEFAULT_BACKFILL),
    answer: 'group',
  },
  find: { call: (store, { topic }) => store.find(topic, 'm'), answer: 'topic' },
  browse: { call: (store, { topic }) => store.browse(topic, { newestFirst: false, limit: 10 }), answer: 'topic' },
  tail: { call: (store, { topic, place }) => store.tail(topic, place, 10), answer: 'topic' },
  retries: {
    call: (store, { topic, subscription }) => store.retries(topic, subscription, { after: 0, limit: 10 }),
    answer: 'group',
  },
  deadLetter: { call: (store, { topic }) => store.deadLetter(topic, 1), answer: 'topic' },
  redrive: { call: (store, { topic }) => store.redrive(topic, { limit: 10 }), answer: 'topic' },
  undeliverable: { call: (store, { topic }) => store.undeliverable(topic, { limit: 0 }), answer: 'topic' },
  discard: { call: (store, { topic }) => store.discard(topic, { limit: 10 }), answer: 'topic' },
  facts: { call: (store, { topic }) => store.facts(topic), answer: 'topic' },
  stats: { call: store => store.stats(10), answer: 'nothing' },
  size: { call: store => store.size(), answer: 'nothing' },
  // A server's own clock is not asked for.
  clock: null,
  // Of the whole server, and of this process.
  horizonHolders: null,
  watch: null,
  hint: null,
  forgetReader: null,
  poolUse: null,
  onGone: null,
  dropNamespace: { call: store => store.dropNamespace(), answer: 'nothing' },
  close: null,
}

/** The same names in the same order give the same ids. */
async function begin(store: Store): Promise<Known> {
  const topic = await store.configureTopic('events', { semantics: 'pub-sub', tracking: 'reference' })
  const subscription = await store.subscribe(topic, 'g', 'now')
  await store.publish(topic, [MESSAGE])
  const { lease } = await store.claim({ topic, subscription, ...REQUEST })
  assert.ok(lease)
  const { place } = await store.tail(topic, null, 0)
  await store.publish(topic, [MESSAGE, MESSAGE])
  return { topic, subscription, token: lease.token, place }
}

const TABLES = ['topic', 'subscription', 'lease', 'retry', 'dead_letter', 'dedupe', 'backfill', 'bit_wipe', 'job']

/** All that is stored, ids that were drawn included. */
async function contents(database: TestDatabase): Promise<unknown> {
  const tables = await Promise.all(
    [...TABLES, 'log_1', 'track_1', 'namespace'].map(table =>
      database.execute({
        sqlite: `select * from tidemark_${table} order by 1`,
        postgres: `select to_jsonb(t)::text as row from tidemark.${table} as t order by 1`,
      }),
    ),
  )
  const drawn = await database.execute({
    sqlite: 'select * from sqlite_sequence order by name',
    postgres: `select sequencename, last_value::text from pg_sequences where schemaname = 'tidemark' order by 1`,
  })
  return { tables, drawn }
}

const CALLS = Object.entries(VERBS).flatMap(([verb, each]) => (each === null ? [] : [{ verb, ...each }]))
/** The first refusal ends a process, so each verb has one of its own; on PostgreSQL each has a few connections. */
const AT_ONCE = 12

for (const store of SHARED_STORES) {
  describe(`${store.name}: what an old process knows of a namespace that was made anew`, () => {
    for (let from = 0; from < CALLS.length; from += AT_ONCE) {
      const calls = CALLS.slice(from, from + AT_ONCE)
      it(`is refused, and changes nothing: ${calls.map(({ verb }) => verb).join(', ')}`, async () => {
        await using database = await store.fresh()
        await using processes = new AsyncDisposableStack()
        const open = async () => processes.use(await openStore(database))
        const known = await begin(await open())
        const old = await Promise.all(calls.map(async call => ({ ...call, process: await open() })))
        await (await database.open({ maintenance: false })).dropNamespace()
        const { topic, subscription } = await begin(await open())
        assert.deepEqual([topic.id, subscription.id], [known.topic.id, known.subscription.id])
        const before = await contents(database)
        for (const { verb, call, process } of old) {
          const told: unknown[] = []
          process.onGone(error => told.push(error))
          await assert.rejects(async () => await call(process, known), NamespaceGoneError, verb)
          await assert.rejects(process.topics(), NamespaceGoneError, verb)
          assert.equal(told.length, 1, verb)
          assert.deepEqual(await contents(database), before, verb)
        }
      })
    }
  })

  describe(`${store.name}: records of another incarnation`, () => {
    it('are refused by every verb that takes them, and nothing is changed', async () => {
      await using database = await store.fresh()
      await using direct = await openStore(database)
      const known = await begin(direct)
      const other = {
        topic: { ...known, topic: { ...known.topic, uid: known.topic.uid - 1 } },
        group: { ...known, subscription: { ...known.subscription, uid: known.subscription.uid - 1 } },
      }
      const errors = { topic: TopicNotFoundError, group: SubscriptionGoneError }
      const before = await contents(database)
      for (const { verb, call, answer } of CALLS) {
        if (answer === 'nothing') continue
        await assert.rejects(async () => await call(direct, other[answer]), errors[answer], verb)
        assert.deepEqual(await contents(database), before, verb)
      }
    })
  })
}

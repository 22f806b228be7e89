/**
 * Everything a store does, in tables of 100 000 rows each: what the tests of the plans run. Bounded steps are told with how
 * many messages they are about, so that a test can compare what was read for them.
 */
import assert from 'node:assert/strict'
import type { BackfillPlan } from '../../src/stores/backfills.ts'
import { BROWSE_STEP } from '../../src/stores/browse-steps.ts'
import type { ClaimRequest, Lease, Settlement } from '../../src/stores/leases.ts'
import type { OutgoingMessage } from '../../src/stores/log.ts'
import type { Store } from '../../src/stores/store.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'

export const ROWS = 100_000
/** Messages that a step of the scenario is about. */
export const PAGE = 1_000
const BATCH = 10_000
const HOUR = 3_600_000

/** Names the step, with how many messages it is about, and runs it. */
type Step = <T>(name: string, messages: number, run: () => Promise<T>) => Promise<T>

export type Parts = {
  readonly store: Store
  readonly step: Step
  /** Each engine's own statements: rows that would take too long through the store, and time that passes. */
  readonly fillLeases: (subscriptionId: number) => Promise<void>
  /** A retry, or a dead letter, of every message of topic 1. */
  readonly fillRetries: (subscriptionId: number) => Promise<void>
  readonly fillDeadLetters: (subscriptionId: number, group: string) => Promise<void>
  readonly expireLeases: (subscriptionId: number) => Promise<void>
  readonly makeRetriesDue: () => Promise<void>
  /** Takes the first message that the group is to retry out of the log of topic 1. */
  readonly loseRetried: (subscriptionId: number) => Promise<void>
  readonly passHour: () => Promise<void>
  readonly silence: (group: string) => Promise<void>
  /** The tables are full: statistics may be taken. */
  readonly filled: () => Promise<void>
}

const PLAN: BackfillPlan = {
  scope: 'retained',
  maxMessages: null,
  batchSize: PAGE,
  maxPerSecond: 1e6,
  targetMs: 1_000,
}

const TIMES = { max: 1, buckets: [0, 1] }
const CONSUMER = { consumer: 'c', processed: 1, failed: 0, handler: TIMES, ageMs: 1, idleMs: 1 }

type World = {
  readonly offset: TopicRecord
  readonly reference: TopicRecord
  readonly failing: SubscriptionRecord
  readonly holding: SubscriptionRecord
  readonly live: SubscriptionRecord
  readonly marked: SubscriptionRecord
}

export async function runScenario(parts: Parts): Promise<void> {
  const world = await fill(parts)
  await parts.filled()
  await publishing(parts, world)
  await delivering(parts, world)
  await failing(parts, world)
  await looking(parts, world)
  await deadLetters(parts, world)
  await backfilling(parts, world)
  await groupsComeAndGo(parts, world)
  await cleaning(parts, world)
  await switching(parts, world)
}

/** Log, dedupe, retry, dead letters, leases and bitmaps of 100 000 rows. */
async function fill({ store, fillLeases, fillRetries, fillDeadLetters }: Parts): Promise<World> {
  const pubSub = { semantics: 'pub-sub', retentionMs: HOUR, leaseMs: HOUR } as const
  const offset = await store.topics.configure('by-offset', { ...pubSub })
  const reference = await store.topics.configure('by-reference', { ...pubSub, tracking: 'reference' })
  const [failing, holding, live] = [
    await store.subscriptions.subscribe(offset, 'failing', 'now'),
    await store.subscriptions.subscribe(offset, 'holding', 'now'),
    await store.subscriptions.subscribe(offset, 'live', 'now'),
  ]
  const marked = await store.subscriptions.subscribe(reference, 'marked', 'now')
  for (let first = 0; first < ROWS; first += BATCH) {
    await store.log.publish(offset, messages(BATCH, first, true))
    await store.log.publish(reference, messages(BATCH, first, false))
  }
  // One group with a retry of every message, one whose messages are all dead.
  for (const subscription of [failing, holding, live]) await ackEverything(store, offset, subscription)
  await fillRetries(failing.id)
  await fillDeadLetters(holding.id, 'holding')
  await fillLeases(failing.id)
  return { offset, reference, failing, holding, live, marked }
}

async function publishing({ store, step }: Parts, { offset, reference }: World): Promise<void> {
  await step('publish', PAGE, () => store.log.publish(offset, messages(PAGE, 0, false)))
  await step('publish with messageIds', PAGE, () => store.log.publish(offset, messages(PAGE, ROWS, true)))
  await step('publish duplicates', PAGE, () => store.log.publish(offset, messages(PAGE, 0, true)))
  await step('publish with bitmaps', PAGE, () => store.log.publish(reference, messages(PAGE, ROWS, false)))
}

async function delivering({ store, step }: Parts, { offset, reference, live, marked }: World): Promise<void> {
  const page = await step('claim a page', PAGE, () => claim(store, offset, live))
  await step('extend', 1, () => store.leases.extend(page.token, HOUR))
  await step('ack a page', PAGE, () => store.leases.settle([ackAll(page)]))
  const other = await step('claim and forget', PAGE, () => claim(store, offset, live, { forget: [page.token] }))
  await step('ack slot by slot', PAGE, () => store.leases.settle([{ ...ackAll(other), acks: slots(other) }]))
  const tracked = await step('claim by reference', PAGE, () => claim(store, reference, marked))
  await step('ack by reference', PAGE, () => store.leases.settle([ackAll(tracked)]))
  const more = await step('claim by reference', PAGE, () => claim(store, reference, marked))
  await step('ack by reference, slot by slot', PAGE, () =>
    store.leases.settle([{ ...ackAll(more), acks: slots(more) }]),
  )
}

async function failing(parts: Parts, { offset, reference, failing, live, marked }: World): Promise<void> {
  const { store, step, makeRetriesDue, loseRetried, expireLeases } = parts
  await store.log.publish(offset, messages(3 * PAGE, 0, false))
  const page = await claim(store, offset, live)
  await step('nack a page', PAGE, () => store.leases.settle([nackAll(page, 0, 5)]))
  const retried = await step('claim retries', PAGE, () => claim(store, offset, live))
  await step('ack retries', PAGE, () => store.leases.settle([ackAll(retried)]))
  const released = await claim(store, offset, live)
  await step('release a page', PAGE, () => store.leases.settle([releaseAll(released)]))
  const again = await step('claim what was released', PAGE, () => claim(store, offset, live))
  await step('nack retries', PAGE, () => store.leases.settle([nackAll(again, 0, 5)]))
  const last = await claim(store, offset, live)
  await step('release retries', PAGE, () => store.leases.settle([releaseAll(last)]))
  await loseRetried(live.id)
  const rest = await step('claim retries of which one is gone', PAGE, () => claim(store, offset, live))
  await step('release what is left', PAGE, () =>
    store.leases.settle([{ ...releaseAll(rest), releases: slots(rest).slice(1) }]),
  )
  const dying = await claim(store, offset, live)
  await step('bury retries', PAGE, () => store.leases.settle([nackAll(dying, 0, 1)]))
  const first = await claim(store, reference, marked)
  await step('bury a page by reference', PAGE, () => store.leases.settle([nackAll(first, 0, 1)]))

  await makeRetriesDue()
  const due = await step('claim due retries among many', PAGE, () => claim(store, offset, failing))
  await step('ack some of them', PAGE / 2, () =>
    store.leases.settle([{ ...ackAll(due), acks: slots(due).slice(PAGE / 2) }]),
  )
  await expireLeases(failing.id)
  await step('expire retries', PAGE / 2, () => claim(store, offset, failing, { limit: 1, suspects: 'none' }))
  await claim(store, offset, live)
  await expireLeases(live.id)
  await step('expire a page', PAGE, () => store.leases.claim(request(offset, live, { limit: 1 })))
  await step('claim a piece of it', PAGE, () => claim(store, offset, live))
  await step('claims', 100, () => store.leases.list(offset, { subscriptionId: live.id, limit: 100, named: 5 }))
  await step('waiting retries', 100, () => store.leases.retries(offset, failing, { after: ROWS / 2, limit: 100 }))

  const held = await step('claim by reference', PAGE, () => claim(store, reference, marked))
  await step('ack one of it', PAGE, () => store.leases.settle([{ ...settlement(held), acks: [1] }]))
  await step('the size of a lease', 1, () => store.leases.size(held.token))
  await step('claims of a page', PAGE, async () => {
    const [found] = await store.leases.list(reference, { subscriptionId: marked.id, limit: 100, named: 5 })
    assert.equal(found?.unsettled, PAGE - 1)
  })
  await step('release a claim', PAGE, () => store.leases.release(reference, held.token))
  await step('look for work', 1, () => store.leases.claim(request(reference, marked, { limit: 1 })))
}

async function looking({ store, step }: Parts, { offset, reference, failing }: World): Promise<void> {
  const between = { after: ROWS / 2, newestFirst: false, limit: 100 }
  await step('browse', BROWSE_STEP, () => store.log.browse(offset, between))
  await step('browse the newest', BROWSE_STEP, () => store.log.browse(offset, { newestFirst: true, limit: 100 }))
  const { place } = await step('begin a tail', 1, () => store.log.tail(offset, null, 100))
  await store.log.publish(offset, messages(100, 0, false))
  await step('tail', 100, () => store.log.tail(offset, place, 100))
  await step('find by messageId', 1, () => store.log.find(offset, 'message 500'))
  await step('find what is not there', ROWS, () => store.log.find(offset, 'message nowhere'))
  await step('completion', 100, () =>
    store.tracking.completion(reference, { after: ROWS / 2, limit: 100, unfinished: false }),
  )
  const one = { after: 0, limit: 1, unfinished: false, id: ROWS - 5 }
  await step('completion of one', 1, async () => {
    assert.equal((await store.tracking.completion(reference, one)).length, 1)
  })
  await step('what is unfinished', 100, () =>
    store.tracking.completion(reference, { after: ROWS / 2, limit: 100, unfinished: true }),
  )
  // Of the one that has them all, the retries and the dead letters are counted.
  await step('describe a topic', ROWS, () => store.inspection.describe(offset))
  await step('describe another', PAGE, () => store.inspection.describe(reference))
  // Retries and dead letters are counted up to a bound, which is the one given.
  await step('stats', PAGE, () => store.inspection.stats(PAGE, false))
  await step('stats with storage', PAGE, () => store.inspection.stats(PAGE, true))
  await step('examine', PAGE, () => store.inspection.examine(PAGE))
  await step('lanes', 10 * PAGE, () => store.inspection.lanes(offset, { buckets: 200, most: 100 }))
  await step('lanes of a part', 10 * PAGE, () =>
    store.inspection.lanes(reference, { from: ROWS / 2, to: ROWS / 2 + 500, buckets: 200, most: 100 }),
  )
  await step('holders of leases', PAGE, () => store.leases.holders(offset, failing))
  await step('preview of a reset', 2 * PAGE, () => store.subscriptions.previewReset(offset, failing, 'beginning', PAGE))
  await step('states of a message', PAGE, () => store.inspection.messageStates(offset, ROWS / 2))
  await step('states of a tracked message', PAGE, () => store.inspection.messageStates(reference, ROWS / 2))
  await step('preview of settings', PAGE, () => store.topics.preview(offset, { retentionMs: 2 * HOUR }))
  await step('topics', 10, () => store.topics.list())
  await step('jobs', 10, () => store.jobs.list())
  await step('zombies', 10, () => store.subscriptions.zombies())
  await step('unsubscribed topics', 10, () => store.inspection.unsubscribedTopics())
}

async function deadLetters({ store, step }: Parts, { offset }: World): Promise<void> {
  await step('list dead letters', 100, () => store.deadLetters.list(offset, { after: ROWS / 2, limit: 100 }))
  // The last of all: a group's are found among the others'.
  await step("list a group's dead letters", 100, () => store.deadLetters.list(offset, { group: 'live', limit: 100 }))
  await step('errors of dead letters', 100, () =>
    store.deadLetters.errors({ topic: offset, beyond: ROWS / 2, newestFirst: true, limit: 100 }),
  )
  await step('errors of all dead letters', 100, () => store.deadLetters.errors({ newestFirst: true, limit: 100 }))
  await step("errors of a group's dead letters", 100, () =>
    store.deadLetters.errors({ topic: offset, group: 'holding', beyond: ROWS / 2, newestFirst: false, limit: 100 }),
  )
  const [letter] = await store.deadLetters.list(offset, { limit: 1 })
  assert.ok(letter)
  await step('one dead letter', 1, () => store.deadLetters.find(offset, letter.id))
  await step('redrive', PAGE, () => store.deadLetters.redrive(offset, { group: 'holding', limit: PAGE }))
  await step('redrive some', 10, () => store.deadLetters.redrive(offset, { ids: [letter.id + PAGE + 1], limit: 10 }))
  await step('count what cannot be redriven', ROWS, () =>
    store.deadLetters.undeliverable(offset, { group: 'holding', limit: 0 }),
  )
  await step('discard some', 10, () => store.deadLetters.discard(offset, { ids: [letter.id + PAGE + 2], limit: 10 }))
  await step('discard', PAGE, () => store.deadLetters.discard(offset, { group: 'holding', limit: PAGE }))
}

async function backfilling({ store, step }: Parts, { reference, marked }: World): Promise<void> {
  const late = await step('subscribe late', 1, () =>
    store.subscriptions.subscribe(reference, 'late', 'beginning', { backfill: { ...PLAN } }),
  )
  const taken = await step('take a backfill', 1, () => store.backfills.take(token(1), 60_000, late))
  assert.ok(taken)
  for (let batch = 0; batch < 2; batch++) {
    await step('a batch of a backfill', PAGE, () =>
      store.backfills.runBatch(late.id, { token: token(1), limit: PAGE, ttlMs: 60_000 }),
    )
  }
  const backfilled = await step('claim backfilled', PAGE, () => claim(store, reference, late))
  await step('ack backfilled', PAGE, () => store.leases.settle([ackAll(backfilled)]))
  const more = await claim(store, reference, late)
  await step('nack backfilled', PAGE, () => store.leases.settle([nackAll(more, HOUR, 5)]))
  await step('cancel a backfill', 1, () => store.backfills.setStatus(reference, late, 'CANCELLED'))
  await step('the state of a backfill', 1, () => store.backfills.find(late))
  await step('start a backfill', PAGE, () => store.backfills.start(reference, late, 'beginning', PLAN))
  await step('look for work of a backfill', PAGE, () => store.inspection.describe(reference))
  await store.backfills.setStatus(reference, late, 'CANCELLED')
  await step('reset by reference', ROWS, () => store.subscriptions.resetCursor(reference, marked, 'now', PLAN))
}

async function groupsComeAndGo(parts: Parts, { offset, reference, failing, holding, live, marked }: World) {
  const { store, step, silence } = parts
  const beats = [live, marked].map(({ id, uid }) => ({
    subscriptionId: id,
    subscriptionUid: uid,
    processed: 1,
    failed: 0,
    filtered: 0,
    activity: { instance: 'one', group: { claims: 1, claimConflicts: 0, handler: TIMES }, consumers: [CONSUMER] },
  }))
  await step('heartbeat', 2, () => store.heartbeats.send(beats))
  await step('consumers', 1, () => store.heartbeats.consumers(offset))
  await silence('holding')
  await step('detect dead groups', 10, () => store.heartbeats.detectDead())
  assert.equal((await store.subscriptions.find(offset, 'holding'))?.status, 'DEAD')
  await step('resurrect', PAGE, () =>
    store.subscriptions.resurrect(offset, holding, { mode: 'continue', limit: null, plan: PLAN }),
  )
  const idle = await step('subscribe', 1, () => store.subscriptions.subscribe(offset, 'idle', 'now'))
  await store.subscriptions.setStatus(offset, idle, 'CANCELLED')
  await step('remove one that has nothing', 1, () => store.subscriptions.remove(offset, idle))
  await step('reset', ROWS, () => store.subscriptions.resetCursor(offset, failing, 'beginning', PLAN))
  await step('cancel', 1, () => store.subscriptions.setStatus(offset, failing, 'CANCELLED'))
  await step('ended subscriptions', 10, () => store.subscriptions.ended(0))
  await step('remove', ROWS, () => store.subscriptions.remove(offset, failing))
  const late = await store.subscriptions.find(reference, 'late')
  assert.ok(late)
  await step('advance by force', ROWS, () => store.subscriptions.forceAdvance(reference, late))
  await store.subscriptions.setStatus(reference, late, 'CANCELLED')
  await step('clear bits', PAGE, () => store.tracking.clearBits(PAGE))
}

async function cleaning({ store, step, passHour }: Parts, { offset, reference }: World): Promise<void> {
  await passHour()
  await step('clean up', PAGE, () => store.log.cleanUp(offset, PAGE))
  await step('clean up by reference', PAGE, () => store.log.cleanUp(reference, PAGE))
  await step('complete orphans', ROWS, () => store.tracking.completeOrphans(reference, 0))
}

async function switching({ store, step }: Parts, { offset, reference }: World): Promise<void> {
  await step('track by reference', ROWS, () => store.tracking.switch(offset, 'reference'))
  await step('fill bitmaps', PAGE, () => store.tracking.fill(offset, PAGE))
  await step('delete a topic', ROWS, () => store.topics.delete(reference))
}

const request = (
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  more: Partial<ClaimRequest> = {},
): ClaimRequest => ({
  ...{
    topic,
    subscription,
    consumer: 'c',
    limit: PAGE,
    suspects: 'alone',
    leaseMs: null,
    sweep: true,
    forget: [],
    shared: false,
  },
  ...more,
})

async function claim(
  store: Store,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  more?: Partial<ClaimRequest>,
): Promise<Lease> {
  const { lease } = await store.leases.claim(request(topic, subscription, more))
  assert.ok(lease, `nothing to claim for ${subscription.group}`)
  return lease
}

async function ackEverything(store: Store, topic: TopicRecord, subscription: SubscriptionRecord): Promise<void> {
  for (let left = ROWS; left > 0; ) {
    const { lease } = await store.leases.claim(request(topic, subscription, { limit: BATCH, sweep: false }))
    assert.ok(lease)
    await store.leases.settle([ackAll(lease)])
    left -= lease.size
  }
}

const message = (number: number, withId: boolean): OutgoingMessage => ({
  ...{ payload: String(number), type: null, key: null, headers: null },
  messageId: withId ? `message ${number}` : null,
})
const messages = (count: number, first: number, withIds: boolean): OutgoingMessage[] =>
  Array.from({ length: count }, (_, index) => message(first + index, withIds))
const slots = ({ size }: Lease): number[] => Array.from({ length: size }, (_, slot) => slot)
const token = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

const settlement = ({ token, size }: Lease): Settlement => ({
  ...{ token, size, maxAttempts: 5, acks: [], nacks: [], releases: [] },
})
const ackAll = (lease: Lease): Settlement => ({ ...settlement(lease), acks: 'all' })
const releaseAll = (lease: Lease): Settlement => ({ ...settlement(lease), releases: slots(lease) })
const nackAll = (lease: Lease, delayMs: number, maxAttempts: number): Settlement => ({
  ...settlement(lease),
  maxAttempts,
  nacks: slots(lease).map(slot => ({ slot, delayMs, error: { name: 'Error', message: 'failed' } })),
})

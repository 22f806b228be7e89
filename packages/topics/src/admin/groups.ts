import { setTimeout as delay } from 'node:timers/promises'
import { type BackfillOptions, readBackfill } from '../backfill/backfill-plan.ts'
import { freeBits, withFreeBit } from '../consume/free-bits.ts'
import { type From, parseFrom } from '../consume/start-position.ts'
import { ConfigError } from '../errors.ts'
import type { Duration } from '../options/duration.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { Resurrected, SubscriptionStatus } from '../stores/subscription-record.ts'
import { findGroup, findTopic, type GroupRecords } from './find-records.ts'
import { type GroupHealth, groupsHealth } from './group-health.ts'

/** Result of `removeGroup`. */
export type Removed = {
  /** Messages still in flight at the timeout. Their settlements are refused from now on. */
  readonly abandoned: number
}

const LOOK_AGAIN_MS = 50

export async function groups(runtime: Runtime, name: string): Promise<GroupHealth[]> {
  const topic = await findTopic(runtime, name)
  return groupsHealth(runtime.vitals, topic, await runtime.store.inspection.describe(topic))
}

const EVENTS = { ACTIVE: 'group-resumed', PAUSED: 'group-paused', CANCELLED: 'group-cancelled' } as const

export async function setStatus(
  runtime: Runtime,
  topicName: string,
  group: string,
  status: Exclude<SubscriptionStatus, 'DEAD'>,
): Promise<void> {
  const { topic, subscription } = await findGroup(runtime, topicName, group)
  await runtime.store.subscriptions.setStatus(topic, subscription, status)
  runtime.instrumentation.emit(EVENTS[status], { topic: topicName, group: subscription.group })
  wake(runtime, topic.id)
}

/**
 * `backfill: false` continues at the present; otherwise the group continues where it stopped, within the given limit.
 */
export async function resurrect(
  runtime: Runtime,
  topicName: string,
  group: string,
  given?: { backfill?: BackfillOptions | false },
): Promise<Resurrected> {
  const options = new Options('resurrectGroup', given)
  const backfill = options.value('backfill')
  const { plan, limit } = parsePlan('resurrectGroup.backfill', backfill === false ? undefined : backfill)
  options.done()
  const { topic, subscription } = await findGroup(runtime, topicName, group)
  const mode = backfill === false ? 'skip' : 'continue'
  const resurrected = await withFreeBit(runtime, () =>
    runtime.store.subscriptions.resurrect(topic, subscription, { mode, limit: limit ?? null, plan }),
  )
  runtime.instrumentation.resurrected({ topic: topicName, group: subscription.group }, resurrected)
  wake(runtime, topic.id)
  await runtime.backfills.start(topic, subscription)
  return resurrected
}

/** Acknowledges the group's losses so far, so that health no longer reports them. */
export async function acknowledgeLoss(
  runtime: Runtime,
  topicName: string,
  group: string,
): Promise<{ readonly acknowledged: number }> {
  const { topic, subscription } = await findGroup(runtime, topicName, group)
  const acknowledged = await runtime.store.subscriptions.acknowledgeLoss(topic, subscription)
  if (acknowledged > 0) {
    const where = { topic: topicName, group: subscription.group }
    runtime.instrumentation.emit('loss-acknowledged', { ...where, count: acknowledged })
  }
  return { acknowledged }
}

/** Moves the group backward or forward to a position. Its leases end, and late settlements of them are stale. */
export async function reset(
  runtime: Runtime,
  topicName: string,
  group: string,
  to: From,
  given?: { backfill?: BackfillOptions },
): Promise<void> {
  const position = to === undefined ? refuseNothing() : parseFrom('resetGroup.to', to)
  const options = new Options('resetGroup', given)
  const { plan } = parsePlan('resetGroup.backfill', options.value('backfill'))
  options.done()
  const { topic, subscription } = await findGroup(runtime, topicName, group)
  await runtime.store.subscriptions.resetCursor(topic, subscription, position, plan)
  runtime.instrumentation.emit('group-reset', { topic: topicName, group: subscription.group })
  wake(runtime, topic.id)
  await runtime.backfills.start(topic, subscription)
}

function parsePlan(path: string, given: unknown): ReturnType<typeof readBackfill> {
  const options = new Options(path, given)
  const parsed = readBackfill(options)
  options.done()
  return parsed
}

function refuseNothing(): never {
  throw new ConfigError('resetGroup.to', undefined, "'now', 'beginning', { timestamp: Date } or { messageId: '…' }")
}

/** Cancels the group, waits for its work in flight, and deletes it. Its dead letters stay. */
export async function remove(
  runtime: Runtime,
  topicName: string,
  group: string,
  given?: { timeout?: Duration },
): Promise<Removed> {
  const options = new Options('removeGroup', given)
  const timeoutMs = options.duration('timeout', 10_000)
  options.done()
  const records = await findGroup(runtime, topicName, group)
  const { topic, subscription } = records
  if (subscription.status !== 'CANCELLED') await setStatus(runtime, topicName, group, 'CANCELLED')
  const abandoned = await waitForWork(runtime, records, timeoutMs)
  if (topic.config.tracking === 'reference') await freeBits(runtime)
  await runtime.store.subscriptions.remove(topic, subscription)
  runtime.instrumentation.emit('group-removed', { topic: topicName, group: subscription.group })
  return { abandoned }
}

async function waitForWork(runtime: Runtime, records: GroupRecords, timeoutMs: number): Promise<number> {
  const until = performance.now() + timeoutMs
  for (;;) {
    const { groups: described } = await runtime.store.inspection.describe(records.topic)
    const inFlight = described.find(each => each.group === records.subscription.group)?.inFlight ?? 0
    const left = until - performance.now()
    if (inFlight === 0 || left <= 0) return inFlight
    await delay(Math.min(left, LOOK_AGAIN_MS))
  }
}

/** Makes waiting groups look for messages now, here and in other processes. */
function wake(runtime: Runtime, topicId: number): void {
  runtime.wakeHub.wake(topicId)
  runtime.store.hint(topicId)
}

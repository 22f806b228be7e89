import { Histogram, type Percentiles } from '../observe/metrics/histogram.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { ConsumerRecord } from '../stores/heartbeats.ts'
import { findGroup, findTopic } from './find-records.ts'

/** A consumer of a group in any process. Figures of other processes are as of their last heartbeat. */
export type ConsumerHealth = {
  /** Name of the topic. */
  readonly topic: string
  /** Name of the group; empty for a queue. */
  readonly group: string
  /** Id of the consumer. */
  readonly consumer: string
  /** Process of the consumer: host, process id, and a suffix that distinguishes instances of one process. */
  readonly instance: string
  /** Acknowledged messages since the consumer started. */
  readonly processed: number
  /** Failed attempts since the consumer started. */
  readonly failed: number
  /** Handler durations in milliseconds. */
  readonly handler: Percentiles
  /** Start of the consumer. */
  readonly startedAt: Date
  /** Time of the last activity; null before the first message. */
  readonly lastActiveAt: Date | null
  /** Time of these figures. */
  readonly reportedAt: Date
}

/** Consumers of the group, or of all groups of the topic, with a heartbeat within the timeout. */
export async function consumers(runtime: Runtime, name: string, given?: { group?: string }): Promise<ConsumerHealth[]> {
  const options = new Options('consumers', given)
  const group = options.groupName('group')
  options.done()
  const topic = await findTopic(runtime, name)
  const wanted = group === undefined ? undefined : (await findGroup(runtime, name, group)).subscription.group
  const { instance } = runtime.heartbeats
  const others = (await runtime.store.heartbeats.consumers(topic)).filter(each => each.instance !== instance)
  return [...others.map(record => toHealth(name, record)), ...localConsumers(runtime, name)]
    .filter(each => wanted === undefined || each.group === wanted)
    .toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
}

/** What the next heartbeat will report to the database. */
function localConsumers(runtime: Runtime, topic: string): ConsumerHealth[] {
  const { instance } = runtime.heartbeats
  const now = Date.now()
  return [...runtime.instrumentation.metrics.groupsOf(topic)].flatMap(([group, scope]) =>
    [...scope.consumers].map(([consumer, meter]) => ({
      ...{ topic, group, consumer, instance },
      ...meter.snapshot(),
      startedAt: new Date(now - meter.ageMs),
      reportedAt: new Date(now),
    })),
  )
}

function toHealth(topic: string, record: ConsumerRecord): ConsumerHealth {
  const { group, consumer, instance, processed, failed, startedAt, activeAt, reportedAt } = record
  const handler = new Histogram()
  handler.merge(record.handler)
  return {
    ...{ topic, group, consumer, instance, processed, failed },
    handler: handler.snapshot(),
    startedAt: new Date(startedAt),
    lastActiveAt: activeAt === null ? null : new Date(activeAt),
    reportedAt: new Date(reportedAt),
  }
}

const keyOf = ({ group, consumer, instance }: ConsumerHealth): string => [group, consumer, instance].join('/')

import type { Duration, Reader, Tidemark } from 'tidemark'
import type { TopicEnvelope } from '../../../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { parseDuration } from '../../../duration.ts'
import type { BindingMeter } from '../../../resources/binding-meter.ts'
import { MonitoredReader } from '../../../resources/monitored-reader.ts'
import { type AnnouncementSettings, configureNotificationTopic, topicOfRun } from '../../notification-topics.ts'

/** Which announcements to read, and as which group. */
export type RunReaderOptions = {
  readonly topic: string
  readonly group: string
  /** Lease of the group's claims. Default: the topic's lease. */
  readonly lease?: Duration | undefined
  readonly settings?: AnnouncementSettings | undefined
  /** Counts what is read. */
  readonly meter?: BindingMeter | undefined
}

export type RunReader = {
  readonly reader: Reader<TopicEnvelope> | MonitoredReader<TopicEnvelope>
  readonly extendEveryMs: number
  /** Attempts after which the topic dead-letters a message. */
  readonly maxAttempts: number
}

/** A lease that never expires needs no extension; this only keeps the interval within what a timer supports. */
const LONGEST_EXTEND_MS = 60_000

/** Often enough that somebody who wants to remove the run sees that it is in use. */
const HEARTBEAT = { interval: '5s', timeout: '5m' } as const

/** A reader of one run's announcements, from the first one. It is subscribed when this resolves. */
export async function openRunReader(
  tidemark: Tidemark,
  runId: string,
  { topic, group, lease, settings, meter }: RunReaderOptions,
): Promise<RunReader> {
  const name = topicOfRun(topic, runId)
  const config = await configureNotificationTopic(tidemark, name, settings)
  const ofGroup = lease === undefined ? {} : { lease }
  const reader = tidemark.reader<TopicEnvelope>(name, { group, from: 'beginning', heartbeat: HEARTBEAT, ...ofGroup })
  await reader.ready()
  const counted = meter === undefined ? reader : new MonitoredReader(reader, meter)
  const leaseMs = lease === undefined ? config.leaseMs : parseDuration('lease', lease)
  const extendEveryMs = Math.min(LONGEST_EXTEND_MS, leaseMs / 3 || LONGEST_EXTEND_MS)
  return { reader: counted, extendEveryMs, maxAttempts: config.maxAttempts }
}

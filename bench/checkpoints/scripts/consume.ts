/** consume.ts <work>: groups of a checkpoint in a process of their own, until it is told to stop or killed. */
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { type ConsumerGroup, open, type Tidemark } from 'tidemark'
import { monotonicMs } from '../../topics/monotonic.ts'
import { reportTo, Sample } from '../load/answer-parent.ts'
import { DeliveryRecord } from '../load/delivery-record.ts'
import type { ConsumeReport, ConsumeWork, Load, Subscribed } from '../load/messages.ts'
import { SeenNumbers } from '../load/seen-numbers.ts'

const ROUND_TRIP_EVERY_MS = 25
const HEAP_EVERY_MS = 5_000

const work = JSON.parse(process.argv[2] ?? '') as ConsumeWork
const errors: string[] = []
const namespaces = new Map<string, Tidemark>()
for (const namespace of new Set(work.subscriptions.map(each => each.namespace ?? 'default'))) {
  const tidemark = await open(work.url, {
    namespace,
    ...(work.maintenance !== undefined && { maintenance: work.maintenance }),
    ...(work.poolSize !== undefined && { poolSize: work.poolSize }),
    ...(work.rowCacheBytes !== undefined && { rowCacheBytes: work.rowCacheBytes }),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  tidemark.on('error', ({ action, error }) => errors.push(`${action}: ${error.message}`))
  namespaces.set(namespace, tidemark)
}
const [first] = namespaces.values()

type Counted = {
  delivered: number
  redelivered: number
  earlier: number
  readonly seen: SeenNumbers
  readonly latencies: Sample
}
const counted = work.subscriptions.map(
  (): Counted => ({ delivered: 0, redelivered: 0, earlier: 0, seen: new SeenNumbers(), latencies: new Sample() }),
)
const roundTrips = new Sample()
let heapMeasuredAt = 0
/** While it is false, slow handlers stand still. */
let isOpen = true

const report = (): ConsumeReport => {
  const heapMB = measureHeap()
  return {
    groups: work.subscriptions.map(({ topic, group }, index) => {
      const { delivered = 0, redelivered = 0, earlier = 0, seen, latencies } = counted[index] ?? {}
      return {
        topic,
        group,
        delivered,
        redelivered,
        earlier,
        distinct: seen?.size ?? 0,
        latencies: latencies?.take() ?? [],
      }
    }),
    claim: first?.metrics().latency.claim ?? { count: 0, p50: 0, p95: 0, p99: 0, max: 0 },
    roundTrips: roundTrips.take(),
    rssMB: process.memoryUsage.rss() / 2 ** 20,
    heapMB,
    handles: process.getActiveResourcesInfo().length,
    errors: errors.splice(0),
  }
}
const lastReport = reportTo(report, command => {
  if (command.stop) void stop()
  if (command.isOpen !== undefined) isOpen = command.isOpen
})

const startedAt = monotonicMs()
const groups = work.subscriptions.map(createGroup)
await Promise.all(groups.map((group, index) => group.start(startOf(work.subscriptions[index]))))
if (work.roundTrips) void (work.url.startsWith('sqlite:') ? timeCommits(work.roundTrips) : timeRoundTrips())
process.send?.({ started: monotonicMs() })

function createGroup(wanted: Subscribed, index: number): ConsumerGroup<Load> {
  const { topic, group: name, namespace = 'default', batchSize, consumers = 1, handlerMs = 0 } = wanted
  const counts = counted[index]
  const tidemark = namespaces.get(namespace)
  if (counts === undefined || tidemark === undefined) throw new Error('unreachable: one of each per subscription')
  const record = wanted.record === undefined ? undefined : new DeliveryRecord(wanted.record)
  const group = tidemark.consumerGroup<Load>(topic, name, { sharedPayloads: true, ...(batchSize && { batchSize }) })
  for (let number = 0; number < consumers; number++) {
    group.addConsumer(`${process.pid}-${number}`, async ({ payload, attempt }) => {
      counts.latencies.add(monotonicMs() - payload.sentAt)
      counts.delivered++
      if (attempt > 1) counts.redelivered++
      if (payload.sentAt < startedAt) counts.earlier++
      if (wanted.distinct) counts.seen.add(payload.n)
      record?.add(payload.n)
      if (handlerMs > 0)
        do await new Promise(resolve => setTimeout(resolve, handlerMs))
        while (!isOpen)
    })
  }
  return group
}

function startOf(wanted: Subscribed | undefined) {
  const { from, heartbeat, backfill } = wanted ?? {}
  return {
    ...(from !== undefined && { from }),
    ...(heartbeat !== undefined && { heartbeat }),
    ...(backfill !== undefined && { backfill }),
  }
}

function measureHeap(): number | null {
  if (!work.collectGarbage || monotonicMs() - heapMeasuredAt < HEAP_EVERY_MS) return null
  heapMeasuredAt = monotonicMs()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 2 ** 20
}

async function timeRoundTrips(): Promise<void> {
  const client = new Client({ connectionString: work.url })
  client.on('error', () => {})
  await client.connect()
  const { roundTrip: text = 'select 1' } = work
  for (;;) {
    const started = monotonicMs()
    for (let trip = 0; trip < (work.roundTrips ?? 0); trip++) await client.query({ name: 'round-trip', text })
    roundTrips.add(monotonicMs() - started)
    await new Promise(resolve => setTimeout(resolve, ROUND_TRIP_EVERY_MS).unref())
  }
}

/**
 * SQLite: a turn of the timers, because a message passes through them too, and durable commits in a file of its own. So
 * long takes what has nothing to do with Tidemark at that moment.
 */
async function timeCommits(commits: number): Promise<void> {
  const file = `${work.url.slice('sqlite:'.length)}.control-${process.pid}`
  const database = new DatabaseSync(file)
  database.exec('pragma journal_mode = wal; pragma synchronous = full; create table control (note text)')
  const insert = database.prepare("insert into control values ('a bare row')")
  for (;;) {
    const started = monotonicMs()
    await new Promise(resolve => setTimeout(resolve, 1))
    for (let commit = 0; commit < commits; commit++) insert.run()
    roundTrips.add(monotonicMs() - started)
    await new Promise(resolve => setTimeout(resolve, ROUND_TRIP_EVERY_MS).unref())
  }
}

async function stop(): Promise<void> {
  for (const tidemark of namespaces.values()) await tidemark.close()
  lastReport()
  process.disconnect()
  process.exit()
}

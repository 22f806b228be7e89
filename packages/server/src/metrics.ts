import { setTimeout as delay } from 'node:timers/promises'
import { type DiskStatus, type Pipeline, Turns } from '@tidemark/pipeline'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Counts, GroupHealth, Metrics, ScopeMetrics, Stats, Tidemark } from 'tidemark'
import type { Context } from './context.ts'

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60]

/** Maximum wait for the database. The counters of this process are exported even if it does not answer. */
const STATS_MS = 2_000

/** Data of one scrape: counters of this process, and figures of all groups from the database. */
type Scrape = { readonly metrics: Metrics | undefined; readonly stats: Stats | undefined }

/** Metrics for Prometheus. A scrape only copies figures that are kept up to date elsewhere. */
export class ServerMetrics {
  readonly #registry = new Registry()
  readonly #topics: Tidemark | undefined
  readonly #requests: Counter<'method' | 'route' | 'status'>
  readonly #seconds: Histogram<'method' | 'route'>
  #making: Promise<string> | undefined
  #scrape: Scrape = { metrics: undefined, stats: undefined }

  constructor(context: Context) {
    const registers = [this.#registry]
    this.#requests = new Counter({
      name: 'tidemark_http_requests_total',
      help: 'Number of answered requests.',
      labelNames: ['method', 'route', 'status'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'tidemark_http_request_seconds',
      help: 'Time from the request to the end of its answer, in seconds.',
      labelNames: ['method', 'route'],
      buckets: SECONDS,
      registers,
    })
    this.#topics = context.settings.topics
    addServer(context, registers)
    if (this.#topics !== undefined) {
      addTopics(() => this.#scrape.metrics, registers)
      addDatabase(() => this.#scrape.metrics, registers)
      addGroups(() => this.#scrape.stats, registers)
    }
    addPipeline(context, registers)
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  answered(request: FastifyRequest, reply: FastifyReply): void {
    const { method } = request
    // The pattern, not the path, so that the number of series is bounded by the number of routes.
    const route = request.routeOptions.url ?? 'unknown'
    this.#requests.inc({ method, route, status: String(reply.statusCode) })
    this.#seconds.observe({ method, route }, reply.elapsedTime / 1_000)
  }

  /** Concurrent scrapes share one result. */
  async text(): Promise<string> {
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined
    })
    return await this.#making
  }

  async #make(): Promise<string> {
    // The database first: this process then forgets topics and groups that no longer exist.
    const stats = this.#topics && (await statsOf(this.#topics))
    this.#scrape = { stats, metrics: this.#topics?.metrics() }
    // One by one: 500 topics with three groups are 1.7 MB, and building them at once would block the event loop for 100 ms.
    const turns = new Turns()
    const texts: string[] = []
    for (const { name } of this.#registry.getMetricsAsArray()) {
      texts.push(await this.#registry.getSingleMetricAsString(name))
      await turns.pass()
    }
    return `${texts.join('\n\n')}\n`
  }
}

/** From the cache that all callers share; undefined if the database does not answer. */
async function statsOf(topics: Tidemark): Promise<Stats | undefined> {
  const timeout = new AbortController()
  const late = delay(STATS_MS, undefined, { signal: timeout.signal, ref: false }).catch(() => undefined)
  try {
    return await Promise.race([topics.admin.stats().catch(() => undefined), late])
  } finally {
    timeout.abort()
  }
}

function addServer({ streams, pulls }: Context, registers: Registry[]): void {
  gauge(registers, 'tidemark_http_open', 'Open event streams and waiting pulls.', ['kind'], set => {
    set({ kind: 'streams' }, streams.taken)
    set({ kind: 'pulls' }, pulls.taken)
  })
  gauge(registers, 'process_resident_memory_bytes', 'Resident memory of the process, in bytes.', [], set => {
    set({}, process.memoryUsage.rss())
  })
  gauge(registers, 'process_uptime_seconds', 'Time since the process started, in seconds.', [], set =>
    set({}, process.uptime()),
  )
}

function addTopics(read: () => Metrics | undefined, registers: Registry[]): void {
  // The counter is set, not increased: the library counts.
  const counted = new Counter({
    name: 'tidemark_topic_events_total',
    help: 'Messages handled by this process, by topic, group and event.',
    labelNames: ['event', 'topic', 'group'],
    registers,
    collect() {
      this.reset()
      for (const [topic, { groups, ...scope }] of Object.entries(read()?.topics ?? {})) {
        add(scope, Object.values(groups), { topic, group: '' })
        for (const [group, inGroup] of Object.entries(groups)) if (group !== '') add(inGroup, [], { topic, group })
      }
    },
  })
  const add = (scope: ScopeMetrics, below: readonly ScopeMetrics[], labels: { topic: string; group: string }): void => {
    for (const [event, total] of Object.entries(scope.totals)) {
      // Counts of a named group are exported with its label, so that the sum over all labels is right.
      const named = labels.group === '' ? namedTotal(below, event as keyof Counts) : 0
      if (total - named > 0) counted.inc({ event, ...labels }, total - named)
    }
  }
  gauge(
    registers,
    'tidemark_group_failing_seconds',
    'Time for which a group of this process has been unable to claim, in seconds.',
    ['topic', 'group'],
    set => {
      for (const { topic, group, failingSince } of read()?.failing ?? []) {
        set({ topic, group }, (Date.now() - (failingSince?.getTime() ?? Date.now())) / 1_000)
      }
    },
  )
}

function addDatabase(read: () => Metrics | undefined, registers: Registry[]): void {
  gauge(
    registers,
    'tidemark_database_latency_seconds',
    'Latency of the database by percentile, in seconds.',
    ['action', 'quantile'],
    set => {
      for (const [action, { p50, p95, p99 }] of Object.entries(read()?.latency ?? {})) {
        set({ action, quantile: '0.5' }, p50 / 1_000)
        set({ action, quantile: '0.95' }, p95 / 1_000)
        set({ action, quantile: '0.99' }, p99 / 1_000)
      }
    },
  )
  new Counter({
    name: 'tidemark_database_failures_total',
    help: 'Failed database calls by kind: write, read, claim, settle, heartbeat or connection.',
    labelNames: ['kind'],
    registers,
    collect() {
      this.reset()
      for (const [kind, count] of Object.entries(read()?.failures ?? {})) this.inc({ kind }, count)
    },
  })
  gauge(registers, 'tidemark_database_outage_seconds', 'Duration of the current outage, in seconds.', ['kind'], set => {
    for (const { kind, since } of read()?.outages ?? []) set({ kind }, (Date.now() - since.getTime()) / 1_000)
  })
  gauge(registers, 'tidemark_database_connections', 'Connections of the pool by state.', ['state'], set => {
    for (const [state, count] of Object.entries(read()?.pool ?? {})) set({ state }, count)
  })
}

/** Gauges of every group by name. */
const GROUP_GAUGES: readonly [name: string, help: string, value: (group: GroupHealth) => number][] = [
  ['lag_messages', 'Messages not yet claimed.', group => group.lagMessages],
  ['lag_seconds', 'Age of the oldest message not yet claimed, in seconds.', group => group.lagMs / 1_000],
  ['in_flight', 'Messages claimed and not settled.', group => group.inFlight],
  ['retries', 'Messages that wait for redelivery.', group => group.retries],
  ['dead_letters', 'Number of dead letters.', group => group.deadLetters],
  ['lost', 'Messages that the group has lost.', group => group.lost],
  ['unacknowledged_loss', 'Lost messages that no operator has acknowledged.', group => group.unacknowledgedLoss],
  ['rate', 'Messages processed per second, by all processes.', group => group.ratePerSecond],
  ['heartbeat_age_seconds', 'Time since the last heartbeat, in seconds.', group => group.sinceHeartbeatMs / 1_000],
  ['consumers', 'Number of consumers in all processes.', group => group.consumers],
]

/** From the database: every process exports the same values. */
function addGroups(read: () => Stats | undefined, registers: Registry[]): void {
  gauge(registers, 'tidemark_database_up', '1 if the database answers, otherwise 0.', [], set =>
    set({}, read() === undefined ? 0 : 1),
  )
  for (const [name, help, value] of GROUP_GAUGES) {
    gauge(registers, `tidemark_group_${name}`, help, ['topic', 'group'], set => {
      for (const each of groupsOf(read())) set({ topic: each.topic, group: each.group }, value(each))
    })
  }
  gauge(
    registers,
    'tidemark_group_status',
    '1 for the current status of the group.',
    ['topic', 'group', 'status'],
    set => {
      for (const { topic, group, status } of groupsOf(read())) set({ topic, group, status }, 1)
    },
  )
  gauge(
    registers,
    'tidemark_group_backfill_progress',
    'Progress of the last backfill, 0 to 1.',
    ['topic', 'group'],
    set => {
      for (const { topic, group, backfill } of groupsOf(read())) if (backfill) set({ topic, group }, backfill.progress)
    },
  )
  gauge(registers, 'tidemark_topic_removable', 'Messages that clean-up can remove.', ['topic'], set => {
    for (const [topic, { removable }] of Object.entries(read()?.topics ?? {})) set({ topic }, removable)
  })
  gauge(
    registers,
    'tidemark_job_last_success_timestamp_seconds',
    'Unix time of the last success of the job.',
    ['name'],
    set => {
      for (const [job, { succeededAt }] of Object.entries(read()?.jobs ?? {}))
        if (succeededAt) set({ name: job }, succeededAt.getTime() / 1_000)
    },
  )
  gauge(
    registers,
    'tidemark_job_duration_seconds',
    'Duration of the last run of the job, in seconds.',
    ['name'],
    set => {
      for (const [job, { tookMs }] of Object.entries(read()?.jobs ?? {}))
        if (tookMs !== null) set({ name: job }, tookMs / 1_000)
    },
  )
}

const groupsOf = (stats: Stats | undefined): GroupHealth[] =>
  Object.values(stats?.topics ?? {}).flatMap(({ groups }) => Object.values(groups))

function namedTotal(below: readonly ScopeMetrics[], event: keyof Counts): number {
  return below.reduce((sum, { totals }) => sum + totals[event], 0)
}

/** Figures that all indexers have, with names that alerts can rely on. */
const INDEXER_GAUGES: readonly [name: string, help: string, metric: string][] = [
  ['open_gaps', 'Gaps that may still be filled.', 'openGaps'],
  ['permanent_gaps', 'Permanent gaps.', 'permanentGaps'],
  ['batches_held', 'Batches read and not yet acknowledged.', 'batchesHeld'],
  ['batches_dead_lettered', 'Batches that were dead-lettered.', 'batchesDeadLettered'],
]

/** Unknown and unlimited values have no series. */
const DISK_GAUGES: readonly [name: string, help: string, value: (disk: DiskStatus) => number | null][] = [
  ['budget_bytes', 'Disk budget at which sources pause, in bytes.', disk => disk.maxBytes],
  ['free_bytes', 'Free bytes on the disk with the least free space.', disk => disk.freeBytes],
  ['growth_bytes_per_second', 'Growth in bytes per second over the last minute.', disk => disk.bytesPerSecond],
  ['seconds_left', 'Time until the sources pause at this growth rate, in seconds.', disk => disk.secondsLeft],
  ['paused', '1 while the sources wait for disk space.', disk => Number(disk.paused)],
]

function addPipeline({ settings: { pipeline } }: Context, registers: Registry[]): void {
  if (pipeline === undefined) return
  addServices(pipeline, registers)
  addResources(pipeline, registers)
  addDisk(pipeline, registers)
}

function addServices(pipeline: Pipeline, registers: Registry[]): void {
  gauge(
    registers,
    'tidemark_service_healthy',
    '1 if the service is healthy, otherwise 0.',
    ['service', 'state'],
    set => {
      for (const { name, state, healthy } of pipeline.status().services) set({ service: name, state }, healthy ? 1 : 0)
    },
  )
  gauge(registers, 'tidemark_service_state', '1 for the current state of the service.', ['service', 'state'], set => {
    for (const { name, state } of pipeline.status().services) set({ service: name, state }, 1)
  })
  gauge(
    registers,
    'tidemark_service_errors',
    'Number of failed operations that have not succeeded since.',
    ['service'],
    set => {
      for (const { name, errors } of pipeline.status().services) set({ service: name }, errors.length)
    },
  )
  for (const [name, help, metric] of INDEXER_GAUGES) {
    gauge(registers, `tidemark_indexer_${name}`, help, ['service'], set => {
      for (const { name: service, metrics } of pipeline.status().services) {
        const value = metrics[metric]
        if (value !== undefined) set({ service }, value)
      }
    })
  }
  gauge(registers, 'tidemark_service_metric', 'Figures of a service by name.', ['service', 'metric'], set => {
    for (const { name, metrics } of pipeline.status().services) {
      for (const [metric, value] of Object.entries(metrics)) set({ service: name, metric }, value)
    }
  })
}

function addResources(pipeline: Pipeline, registers: Registry[]): void {
  gauge(
    registers,
    'tidemark_resource_healthy',
    '1 if the resource answers, otherwise 0.',
    ['resource', 'kind'],
    set => {
      for (const { name, kind, healthy } of pipeline.status().resources) set({ resource: name, kind }, healthy ? 1 : 0)
    },
  )
  gauge(
    registers,
    'tidemark_resource_metric',
    'Figures of a resource by name.',
    ['resource', 'kind', 'metric'],
    set => {
      for (const { name, kind, metrics } of pipeline.status().resources) {
        for (const [metric, value] of Object.entries(metrics)) set({ resource: name, kind, metric }, value)
      }
    },
  )
}

function addDisk(pipeline: Pipeline, registers: Registry[]): void {
  gauge(registers, 'tidemark_disk_bytes', 'Bytes used by each part of the pipeline.', ['part', 'kind'], set => {
    for (const { name, kind, bytes, reusableBytes } of pipeline.status().disk.parts)
      set({ part: name, kind }, bytes - reusableBytes)
  })
  for (const [name, help, value] of DISK_GAUGES) {
    gauge(registers, `tidemark_disk_${name}`, help, [], set => {
      const found = value(pipeline.status().disk)
      if (found !== null) set({}, found)
    })
  }
}

function gauge<Label extends string>(
  registers: Registry[],
  name: string,
  help: string,
  labelNames: readonly Label[],
  collect: (set: (labels: Partial<Record<Label, string>>, value: number) => void) => void,
): void {
  new Gauge<Label>({
    name,
    help,
    labelNames: [...labelNames],
    registers,
    collect() {
      this.reset()
      collect((labels, value) => this.set(labels, value))
    },
  })
}

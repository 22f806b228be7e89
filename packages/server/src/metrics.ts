import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Counts, ScopeMetrics } from 'tidemark'
import type { Context } from './context.ts'

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60]

/** What Prometheus is told. Everything is kept up to date elsewhere; a scrape only copies it. */
export class ServerMetrics {
  readonly #registry = new Registry()
  readonly #requests: Counter<'method' | 'route' | 'status'>
  readonly #seconds: Histogram<'method' | 'route'>

  constructor(context: Context) {
    const registers = [this.#registry]
    this.#requests = new Counter({
      name: 'tidemark_http_requests_total',
      help: 'Requests that were answered.',
      labelNames: ['method', 'route', 'status'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'tidemark_http_request_seconds',
      help: 'From the request to the end of its answer.',
      labelNames: ['method', 'route'],
      buckets: SECONDS,
      registers,
    })
    addServer(context, registers)
    addTopics(context, registers)
    addPipeline(context, registers)
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  answered(request: FastifyRequest, reply: FastifyReply): void {
    const { method } = request
    // The pattern, not the path: the number of series stays that of the routes.
    const route = request.routeOptions.url ?? 'unknown'
    this.#requests.inc({ method, route, status: String(reply.statusCode) })
    this.#seconds.observe({ method, route }, reply.elapsedTime / 1_000)
  }

  async text(): Promise<string> {
    return await this.#registry.metrics()
  }
}

function addServer({ streams, pulls }: Context, registers: Registry[]): void {
  gauge(registers, 'tidemark_http_open', 'Streams and waiting pulls that are open.', ['kind'], set => {
    set({ kind: 'streams' }, streams.taken)
    set({ kind: 'pulls' }, pulls.taken)
  })
  gauge(registers, 'process_resident_memory_bytes', 'Memory of the process.', [], set => {
    set({}, process.memoryUsage.rss())
  })
  gauge(registers, 'process_uptime_seconds', 'Since the process began.', [], set => set({}, process.uptime()))
}

function addTopics({ settings: { topics } }: Context, registers: Registry[]): void {
  if (topics === undefined) return
  // A counter that is set, not increased: the library has counted.
  const counted = new Counter({
    name: 'tidemark_topic_events_total',
    help: 'What happened with messages in this process, by topic and group.',
    labelNames: ['event', 'topic', 'group'],
    registers,
    collect() {
      this.reset()
      for (const [topic, { groups, ...scope }] of Object.entries(topics.metrics().topics)) {
        add(scope, Object.values(groups), { topic, group: '' })
        for (const [group, inGroup] of Object.entries(groups)) if (group !== '') add(inGroup, [], { topic, group })
      }
    },
  })
  const add = (scope: ScopeMetrics, below: readonly ScopeMetrics[], labels: { topic: string; group: string }): void => {
    for (const [event, total] of Object.entries(scope.totals)) {
      // What was counted for a named group is told there, so that the sum over all labels is right.
      const named = labels.group === '' ? namedTotal(below, event as keyof Counts) : 0
      if (total - named > 0) counted.inc({ event, ...labels }, total - named)
    }
  }
  gauge(
    registers,
    'tidemark_database_latency_seconds',
    'Of the database, by percentile.',
    ['action', 'quantile'],
    set => {
      for (const [action, { p50, p95, p99 }] of Object.entries(topics.metrics().latency)) {
        set({ action, quantile: '0.5' }, p50 / 1_000)
        set({ action, quantile: '0.95' }, p95 / 1_000)
        set({ action, quantile: '0.99' }, p99 / 1_000)
      }
    },
  )
  gauge(registers, 'tidemark_database_connections', 'Of the pool.', ['state'], set => {
    for (const [state, count] of Object.entries(topics.metrics().pool)) set({ state }, count)
  })
}

function namedTotal(below: readonly ScopeMetrics[], event: keyof Counts): number {
  return below.reduce((sum, { totals }) => sum + totals[event], 0)
}

function addPipeline({ settings: { pipeline } }: Context, registers: Registry[]): void {
  if (pipeline === undefined) return
  gauge(registers, 'tidemark_service_healthy', '1 where the service is well.', ['service', 'state'], set => {
    for (const { name, state, healthy } of pipeline.status().services) set({ service: name, state }, healthy ? 1 : 0)
  })
  gauge(registers, 'tidemark_service_metric', "A service's own figures.", ['service', 'metric'], set => {
    for (const { name, metrics } of pipeline.status().services) {
      for (const [metric, value] of Object.entries(metrics)) set({ service: name, metric }, value)
    }
  })
  gauge(registers, 'tidemark_resource_metric', "A resource's own figures.", ['resource', 'kind', 'metric'], set => {
    for (const { name, kind, metrics } of pipeline.status().resources) {
      for (const [metric, value] of Object.entries(metrics)) set({ resource: name, kind, metric }, value)
    }
  })
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

/** What the tests of the PostgreSQL store share: a server of their own, and short ways to drive the store. */
import assert from 'node:assert/strict'
import { before } from 'node:test'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../../../testing/postgres-server.ts'
import type { ClaimRequest, Lease, Settlement } from '../../src/stores/leases.ts'
import type { OutgoingMessage } from '../../src/stores/log.ts'
import { schemaName } from '../../src/stores/postgres/schema-name.ts'
import { openPostgres, type PostgresOptions } from '../../src/stores/postgres/store.ts'
import type { Store } from '../../src/stores/store.ts'
import type { SubscriptionRecord } from '../../src/stores/subscription-record.ts'
import type { TopicRecord } from '../../src/stores/topic-record.ts'
import type { TopicConfig } from '../../src/topic-config.ts'
import { functionsSchema } from './functions-schema.ts'

export const quiet = { debug() {}, info() {}, warn() {}, error() {} }
export let server: PostgresServer
export let admin: pg.Pool
let count = 0

let started: Promise<void> | undefined

/** Starts the server before the tests of a file. Files that run in one process share it, and it ends with the process. */
export function useServer(): void {
  before(() => {
    started ??= start()
    return started
  })
}

async function start(): Promise<void> {
  server = await startPostgres()
  admin = new pg.Pool({ connectionString: server.url, max: 20, allowExitOnIdle: true })
  admin.on('error', () => {})
}

export const freshNamespace = () => `t${process.pid}_${++count}`

export type Bench = AsyncDisposable & {
  store: Store
  namespace: string
  schema: string
  functions: string
  topic: TopicRecord
}

export async function open(config: Partial<TopicConfig> = {}, options: Partial<PostgresOptions> = {}): Promise<Bench> {
  const namespace = options.namespace ?? freshNamespace()
  const store = await openStore(namespace, options)
  const topic = await store.topics.configure('topic', { semantics: 'pub-sub', ...config })
  return {
    store,
    namespace,
    schema: schemaName(namespace),
    functions: functionsSchema(namespace),
    topic,
    [Symbol.asyncDispose]: () => store.close(),
  }
}

export const openStore = (namespace: string, options: Partial<PostgresOptions> = {}) =>
  openPostgres({
    url: 'url' in options ? options.url : server.url,
    rowCacheBytes: 1_000_000,
    logger: quiet,
    namespace,
    ...options,
  })

export const message = (payload: unknown, extra: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  payload: JSON.stringify(payload),
  type: null,
  key: null,
  headers: null,
  messageId: null,
  ...extra,
})

export const messages = (n: number, from = 0) => Array.from({ length: n }, (_, index) => message(from + index))

export const request = (
  { topic }: { topic: TopicRecord },
  subscription: SubscriptionRecord,
  extra: Partial<ClaimRequest> = {},
): ClaimRequest => ({
  topic,
  subscription,
  consumer: 'c-1',
  limit: 100,
  suspects: 'alone',
  leaseMs: null,
  sweep: true,
  forget: [],
  shared: false,
  ...extra,
})

export async function claimLease(
  bench: Bench,
  subscription: SubscriptionRecord,
  extra: Partial<ClaimRequest> = {},
): Promise<Lease> {
  const { lease } = await bench.store.leases.claim(request(bench, subscription, extra))
  assert.ok(lease, 'nothing to claim')
  return lease
}

export const payloads = ({ messages }: Lease) => messages.map(({ payload }) => JSON.parse(String(payload)))

export const settlement = (token: string, extra: Partial<Settlement> = {}): Settlement => ({
  token,
  size: 100,
  maxAttempts: 5,
  acks: [],
  nacks: [],
  releases: [],
  ...extra,
})

export const ackAll = (lease: Lease): Settlement => settlement(lease.token, { size: lease.size, acks: 'all' })
export const nack = (slot: number, delayMs = 0) => ({
  slot,
  delayMs,
  error: { name: 'Error', message: `slot ${slot}` },
})

export async function drain(
  bench: Bench,
  subscription: SubscriptionRecord,
  extra: Partial<ClaimRequest> = {},
): Promise<unknown[]> {
  const seen: unknown[] = []
  for (;;) {
    const { lease } = await bench.store.leases.claim(request(bench, subscription, extra))
    if (!lease) return seen
    seen.push(...payloads(lease))
    await bench.store.leases.settle([ackAll(lease)])
  }
}

export const group = async (bench: Bench, name = 'g') =>
  (await bench.store.inspection.describe(bench.topic)).groups.find(({ group }) => group === name)

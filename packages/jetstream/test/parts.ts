/** Namespaces on the servers of a test file, opened part by part, so that a test can step in between. */
import { after } from 'node:test'
import {
  type BackfillPlan,
  type ClaimRequest,
  DEFAULT_BACKFILL,
  type Lease,
  type OutgoingMessage,
  type Store,
  type SubscriptionRecord,
  type TopicRecord,
} from 'tidemark/store'
import { type NatsCluster, type NatsOptions, startNats } from '../../../testing/nats-server.ts'
import { Namespace } from '../src/namespace.ts'
import { parseAddress } from '../src/nats/address.ts'
import { Client } from '../src/nats/client.ts'
import { topicKey } from '../src/nats/names.ts'
import type { Steward } from '../src/steward.ts'
import { partsOf } from '../src/store.ts'
import type { TopicStore } from '../src/topic-store.ts'

/** TIDEMARK_TEST_NATS_NODES=3 runs the tests on a cluster. */
export const NODES = process.env.TIDEMARK_TEST_NATS_NODES === '3' ? 3 : 1
/** `npm run test:jetstream`: full sizes. */
export const isFull = process.env.TIDEMARK_TEST_JETSTREAM === '1'
/** For `skip`. */
export const onlyFull = !isFull && 'npm run test:jetstream runs it'

export type Parts = AsyncDisposable & {
  readonly ns: Namespace
  readonly client: Client
  readonly store: Store
  readonly topics: TopicStore
  readonly steward: Steward
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

/** The servers of a test file, started with its first test. */
export function servers(options: Omit<NatsOptions, 'nodes'> = {}): {
  cluster(): Promise<NatsCluster>
  namespace(): Promise<{ readonly name: string; open(): Promise<Parts>; readonly url: string }>
} {
  let cluster: Promise<NatsCluster> | undefined
  let count = 0
  after(async () => {
    await (await cluster)?.[Symbol.asyncDispose]()
  })
  const start = (): Promise<NatsCluster> => {
    cluster ??= startNats({ nodes: NODES, ...options })
    return cluster
  }
  return {
    cluster: start,
    async namespace() {
      const { url } = await start()
      const name = `n${++count}`
      return { name, url, open: () => openParts(url, name) }
    },
  }
}

export async function openParts(url: string, namespace: string): Promise<Parts> {
  const address = parseAddress({ url, option: 'url' })
  const client = await Client.connect(address, { timeoutMs: 5_000, name: namespace })
  const settings = { namespace, replicas: NODES, rowCacheBytes: 8 * 1024 ** 2, logger: SILENT }
  const ns = await Namespace.open(client, settings).catch(async error => {
    await client.close()
    throw error
  })
  return { ns, client, ...partsOf(ns), [Symbol.asyncDispose]: () => client.close() }
}

export const message = (payload: unknown, messageId: string | null = null): OutgoingMessage => ({
  ...{ key: null, type: null, headers: null, messageId },
  payload: JSON.stringify(payload),
})

export const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

export async function publishNumbers({ store }: Parts, topic: TopicRecord, from: number, to: number): Promise<void> {
  for (let first = from; first <= to; first += 1_000) {
    const page = range(first, Math.min(to, first + 999))
    await store.log.publish(
      topic,
      page.map(n => message(n)),
    )
  }
}

export async function claim(
  { store }: Parts,
  topic: TopicRecord,
  subscription: SubscriptionRecord,
  options: Partial<ClaimRequest> = {},
): Promise<Lease | null> {
  const common = { consumer: 'c', limit: 1_000, suspects: 'alone', leaseMs: 60_000, sweep: true } as const
  const { lease } = await store.leases.claim({ ...common, topic, subscription, forget: [], shared: false, ...options })
  return lease
}

export const numbersOf = (lease: Lease | null): number[] =>
  (lease?.messages ?? []).map(({ payload }) => JSON.parse(String(payload)) as number)

/** A reset that leaves nothing out. */
export const EVERYTHING: BackfillPlan = { ...DEFAULT_BACKFILL, maxMessages: null }

export const FAILED = { name: 'Error', message: 'it failed' }

/** Every slot, or some. */
export async function settle(
  { store }: Parts,
  lease: Lease,
  { acks = [], nacks = [] }: { readonly acks?: readonly number[] | 'all'; readonly nacks?: readonly number[] },
  maxAttempts = 5,
  delayMs = 0,
): Promise<{ readonly stale: readonly number[]; readonly deadLettered: readonly number[] }> {
  const failed = nacks.map(slot => ({ slot, delayMs, error: FAILED }))
  const { token, size } = lease
  const [result] = await store.leases.settle([{ token, size, maxAttempts, acks, nacks: failed, releases: [] }])
  if (result === undefined) throw new Error('no result')
  return result
}

/** Claims and acknowledges until nothing is left. */
export async function drain(parts: Parts, topic: TopicRecord, subscription: SubscriptionRecord): Promise<number[]> {
  const found: number[] = []
  for (;;) {
    const lease = await claim(parts, topic, subscription)
    if (lease === null) return found
    found.push(...numbersOf(lease))
    await settle(parts, lease, { acks: 'all' })
  }
}

/** Kept for a second; with `maxRetentionMs` that is also the longest. */
export const SHORT_LIVED = { semantics: 'pub-sub', leaseMs: 1_000, retentionMs: 1_000, maxRetentionMs: null } as const

/** Everything that is stored counts as an hour older. */
export async function ageMessages({ topics, ns, client }: Parts, topic: TopicRecord): Promise<void> {
  const { state } = await client.streams.info(ns.names.logStream(topicKey(topic)))
  await topics.change(topic, async current => ({
    topic: { ...current, aged: [...(current.aged ?? []), [state.last_seq, 3_600_000] as const] },
    result: null,
  }))
}

/** For the group, as a change that was judged by a leader whose clock was ahead leaves it. */
export async function passTime(
  parts: Parts,
  topic: TopicRecord,
  { id }: SubscriptionRecord,
  ms: number,
): Promise<void> {
  const { value, seq } = await parts.steward.read({ topic, id })
  const data = Buffer.from(JSON.stringify({ ...value, at: value.at + ms, steward: null }))
  await parts.client.store([{ subject: parts.ns.names.group(topicKey(topic), id), data, expected: seq }])
}

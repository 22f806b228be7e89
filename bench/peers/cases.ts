import { percentile } from '../statistics.ts'
import { monotonicMs } from '../topics/monotonic.ts'
import { orders } from '../topics/payloads.ts'
import { publishSteadily } from '../topics/steady-publishing.ts'
import { type Contender, PAGE, pause } from './contender.ts'
import type { LineName, Values } from './line.ts'

export type PeerCase = {
  readonly name: string
  readonly about: string
  readonly lines: readonly LineName[]
  measure(contender: Contender, sample: Sample): Promise<Values>
}

type Sample = {
  /** A name that no other sample has. */
  readonly topic: string
  /** How long the work should take: sizes are chosen by it. */
  readonly ms: number
}

const CALLERS = 200
const GROUPS = [1, 4, 16, 64] as const
const RATES = [100, 5_000] as const
const COST_MESSAGES = 5_000
/** A sample grows until it takes this part of the time it may. */
const LONG_ENOUGH = 0.5
const FEWEST_MESSAGES = 20
const FIRST_DELIVERIES = 500
const MOST_DELIVERIES = 400_000
/** Who has not delivered everything so long after the last publish falls behind. */
const PATIENCE_MS = 3_000

/** In this order: what leaves unread messages behind comes last, so that nobody has to search through them. */
export const CASES: readonly PeerCase[] = [
  {
    name: 'cost',
    about: 'write-ahead log, data left, dead rows and memory after the first messages',
    lines: ['wal', 'stored', 'dead-rows', 'memory'],
    measure: measureCost,
  },
  {
    name: 'drain',
    about: 'one group handles and acknowledges what was published before',
    lines: ['drain'],
    measure: async (contender, sample) => ({
      drain: await grow(sample, 1, async (topic, messages) => {
        await fill(contender, topic, messages, 1)
        const started = performance.now()
        return (messages * 1_000) / ((await contender.drain(topic, messages)) - started)
      }),
    }),
  },
  {
    name: 'together',
    about: 'batches are published while one group handles and acknowledges them',
    lines: ['together'],
    measure: async (contender, sample) => ({
      together: await grow(sample, 1, async (topic, messages) => {
        await contender.prepare(topic, groupNames(1))
        const started = performance.now()
        const work = [contender.drain(topic, messages), publishBatches(contender, topic, messages)] as const
        return (messages * 1_000) / ((await Promise.all(work))[0] - started)
      }),
    }),
  },
  ...GROUPS.map(
    (groups): PeerCase => ({
      name: `fan-out-${groups}`,
      about: `deliveries to ${groups} ${groups === 1 ? 'group' : 'groups'}, publishing included`,
      lines: [`fan-out-${groups}`],
      measure: async (contender, sample) => ({
        [`fan-out-${groups}`]: await grow(sample, groups, async (topic, messages) => {
          const published = await fill(contender, topic, messages, groups)
          const draining = performance.now()
          const ended = await contender.drain(topic, messages)
          return (messages * groups * 1_000) / (published + ended - draining)
        }),
      }),
    }),
  ),
  ...RATES.map(
    (perSecond): PeerCase => ({
      name: `latency-${perSecond}`,
      about: `from publish to the handler in the same process, at ${perSecond} messages a second, median and p99`,
      lines: [`latency-${perSecond}-p50`, `latency-${perSecond}-p99`],
      measure: async (contender, sample) => await measureLatency(contender, sample, perSecond),
    }),
  ),
  {
    name: 'publish-single',
    about: 'single messages, one caller that waits for each',
    lines: ['publish-single'],
    measure: async (contender, sample) => ({ 'publish-single': await measureCallers(contender, sample, 1) }),
  },
  {
    name: 'publish-concurrent',
    about: 'single messages, 200 callers that each wait for theirs',
    lines: ['publish-concurrent'],
    measure: async (contender, sample) => ({ 'publish-concurrent': await measureCallers(contender, sample, CALLERS) }),
  },
  {
    name: 'publish-batch',
    about: 'batches of 1000, one after another',
    lines: ['publish-batch'],
    async measure(contender, { topic, ms }) {
      await contender.prepare(topic, groupNames(1))
      const payloads = orders(PAGE)
      const one = async (): Promise<void> => await contender.publishBatch(topic, payloads)
      await one()
      return { 'publish-batch': PAGE * (await repeatFor(ms, one)) }
    },
  },
]

const groupNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `group-${index}`)

/** Publishes and drains a number that is the same for all, in a database and a process that have done nothing else yet. */
async function measureCost(contender: Contender, { topic }: Sample): Promise<Values> {
  const before = await contender.storage()
  await fill(contender, topic, COST_MESSAGES, 1)
  await contender.drain(topic, COST_MESSAGES)
  const after = await contender.storage()
  const perMessage = (value: number | null, earlier: number | null): number | null =>
    value === null ? null : (value - (earlier ?? 0)) / COST_MESSAGES
  return {
    wal: perMessage(after.written, before.written),
    stored: perMessage(after.stored, before.stored),
    'dead-rows': perMessage(after.dead, before.dead),
    memory: process.resourceUsage().maxRSS / 1_024,
  }
}

/** Measures with more and more messages, each time on a new topic, until what is timed has taken long enough. */
async function grow(
  { topic, ms }: Sample,
  groups: number,
  measure: (topic: string, messages: number) => Promise<number>,
): Promise<number> {
  let messages = Math.max(FEWEST_MESSAGES, Math.round(FIRST_DELIVERIES / groups))
  for (let attempt = 1; ; attempt++) {
    const perSecond = await measure(`${topic}-${attempt}`, messages)
    const took = (messages * groups * 1_000) / perSecond
    if (attempt > 1 && (took >= ms * LONG_ENOUGH || messages * groups >= MOST_DELIVERIES)) return perSecond
    messages = Math.ceil(messages * Math.min(10, Math.max(1.5, ms / took)))
  }
}

/** Prepares the topic and publishes to it. Gives the time that publishing took. */
async function fill(contender: Contender, topic: string, messages: number, groups: number): Promise<number> {
  await contender.prepare(topic, groupNames(groups))
  const started = performance.now()
  await publishBatches(contender, topic, messages)
  const took = performance.now() - started
  await contender.gatherStatistics?.()
  return took
}

async function publishBatches(contender: Contender, topic: string, messages: number): Promise<void> {
  const payloads = orders(PAGE)
  for (let sent = 0; sent < messages; sent += PAGE) {
    await contender.publishBatch(topic, payloads.slice(0, Math.min(PAGE, messages - sent)))
  }
}

async function measureCallers(contender: Contender, { topic, ms }: Sample, callers: number): Promise<number> {
  await contender.prepare(topic, groupNames(1))
  const payloads = orders(PAGE)
  let next = 0
  const one = async (): Promise<void> => await contender.publish(topic, payloads[next++ % PAGE] as (typeof payloads)[0])
  const run = async (length: number): Promise<number> => {
    const rates = Array.from({ length: callers }, async () => await repeatFor(length, one))
    return (await Promise.all(rates)).reduce((sum, each) => sum + each, 0)
  }
  await run(ms / 5)
  return await run(ms)
}

/** How often per second it could be done, one after another. */
async function repeatFor(ms: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now()
  for (let times = 1; ; times++) {
    await work()
    const took = performance.now() - started
    if (took >= ms) return (times * 1_000) / took
  }
}

/** Null where it falls behind. The first tenth warms up and is left out. */
async function measureLatency(contender: Contender, { topic, ms }: Sample, perSecond: number): Promise<Values> {
  const messages = Math.ceil((perSecond * ms * 1.5) / 1_000)
  await contender.prepare(topic, groupNames(1))
  const latencies: number[] = []
  const all = Promise.withResolvers<void>()
  const sentAt = new Map<number, number>()
  const listening = await contender.listen(topic, ({ orderId }) => {
    latencies.push(monotonicMs() - (sentAt.get(orderId) ?? 0))
    if (latencies.length === messages) all.resolve()
  })
  const published = publishSteadily(
    messages,
    async payload => {
      sentAt.set(payload.orderId, payload.sentAt)
      await contender.publish(topic, payload)
    },
    perSecond,
  )
  await Promise.race([Promise.all([published, all.promise]), pause((messages * 1_000) / perSecond + PATIENCE_MS)])
  const keptUp = latencies.length === messages
  await published
  await listening[Symbol.asyncDispose]()
  const counted = latencies.slice(Math.floor(messages / 10))
  const value = (fraction: number): number | null => (keptUp ? percentile(counted, fraction) : null)
  return { [`latency-${perSecond}-p50`]: value(0.5), [`latency-${perSecond}-p99`]: value(0.99) }
}

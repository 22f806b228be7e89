import type { Unit } from '../figure.ts'
import { rateOf } from '../interleave.ts'
import { percentile } from '../statistics.ts'
import { monotonicMs } from '../topics/monotonic.ts'
import { orders } from '../topics/payloads.ts'
import { publishSteadily } from '../topics/steady-publishing.ts'
import type { Contender } from './contender.ts'

export type PeerCase = {
  readonly name: string
  readonly about: string
  readonly unit: Unit
  readonly messages: number
  /** One sample, on a topic of its own. */
  measure(contender: Contender, sample: Sample): Promise<number>
}

type Sample = {
  readonly topic: string
  readonly messages: number
  /** As the database would by itself within a minute. */
  readonly gatherStatistics: () => Promise<void>
}

const PAGE = 1_000
const CALLERS = 200
const ONE = ['one']
const FOUR = ['one', 'two', 'three', 'four']

export const CASES: readonly PeerCase[] = [
  {
    name: 'publish-batch',
    about: 'batches of 1000, one after another',
    unit: '/s',
    messages: 20_000,
    async measure(contender, { topic, messages }) {
      await contender.prepare(topic, ONE)
      return await rateOf(messages, async () => await fill(contender, topic, messages))
    },
  },
  {
    name: 'publish-concurrent',
    about: 'single messages, 200 callers that each wait for theirs',
    unit: '/s',
    messages: 10_000,
    async measure(contender, { topic, messages }) {
      await contender.prepare(topic, ONE)
      const left = orders(messages)
      const caller = async (): Promise<void> => {
        for (let next = left.pop(); next !== undefined; next = left.pop()) await contender.publish(topic, next)
      }
      return await rateOf(messages, async () => await Promise.all(Array.from({ length: CALLERS }, caller)))
    },
  },
  {
    name: 'drain',
    about: 'one group handles and acknowledges what was published before',
    unit: '/s',
    messages: 20_000,
    async measure(contender, { topic, messages, gatherStatistics }) {
      await contender.prepare(topic, ONE)
      await fill(contender, topic, messages)
      await gatherStatistics()
      return await rateOf(messages, async () => await contender.drain(topic, messages))
    },
  },
  {
    name: 'fan-out',
    about: 'deliveries to four groups, publishing included',
    unit: '/s',
    messages: 10_000,
    async measure(contender, { topic, messages, gatherStatistics }) {
      await contender.prepare(topic, FOUR)
      const publishing = performance.now()
      await fill(contender, topic, messages)
      const published = performance.now() - publishing
      await gatherStatistics()
      const draining = performance.now()
      await contender.drain(topic, messages)
      return (messages * FOUR.length * 1_000) / (published + performance.now() - draining)
    },
  },
  {
    name: 'latency',
    about: 'from publish to the handler in the same process, at 100 messages a second, the median',
    unit: 'ms',
    messages: 300,
    async measure(contender, { topic, messages }) {
      await contender.prepare(topic, ONE)
      const latencies: number[] = []
      const all = Promise.withResolvers<void>()
      const sentAt = new Map<number, number>()
      await using _listening = await contender.listen(topic, ({ orderId }) => {
        latencies.push(monotonicMs() - (sentAt.get(orderId) ?? 0))
        if (latencies.length === messages) all.resolve()
      })
      await publishSteadily(messages, async payload => {
        sentAt.set(payload.orderId, payload.sentAt)
        await contender.publish(topic, payload)
      })
      await all.promise
      return percentile(latencies, 0.5)
    },
  },
]

async function fill(contender: Contender, topic: string, messages: number): Promise<void> {
  const payloads = orders(PAGE)
  for (let sent = 0; sent < messages; sent += PAGE) {
    await contender.publishBatch(topic, payloads.slice(0, Math.min(PAGE, messages - sent)))
  }
}

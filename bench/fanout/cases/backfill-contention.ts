import { open, type Tidemark } from 'tidemark'
import { type Figure, figure } from '../../figure.ts'
import { percentile } from '../../statistics.ts'
import { ENGINES } from '../../suite.ts'
import type { BenchCase } from '../../topics/bench-case.ts'
import { PAGE } from '../../topics/log-filling.ts'
import { orders } from '../../topics/payloads.ts'

const MESSAGES = 1_000_000
const BEFORE_MS = 5_000
const TOPIC = 'backfill'
const MOST = { text: 'ratio ≤ 2', isMet: (_ours: number, ratio: number | null) => ratio !== null && ratio <= 2 }

/** A late joiner of a full topic, beside a group that publishes and consumes one message at a time. */
export const backfillContention: BenchCase = {
  name: 'backfill',
  about: 'backfill of 1 000 000 messages: its rate, and the p95 of publishes and claims during it against before',
  engines: ENGINES,
  async run(bench) {
    await using tidemark = await open(bench.engine.url)
    const messages = bench.size(MESSAGES)
    await tidemark.configureTopic(TOPIC, { semantics: 'pub-sub', tracking: 'reference' })
    const payloads = orders(PAGE)
    for (let sent = 0; sent < messages; sent += PAGE) await tidemark.publishBatch(TOPIC, payloads)
    await bench.engine.gatherStatistics()
    bench.progress('filled')
    const live = await load(tidemark, new Promise(resolve => setTimeout(resolve, BEFORE_MS)))
    bench.progress('measured before')
    await using joining = await open(bench.engine.url)
    const ended = new Promise<number>(resolve => joining.on('backfill-ended', ({ processed }) => resolve(processed)))
    // It takes one message and keeps it: what a group delivers is another load.
    const group = joining.consumerGroup(TOPIC, 'late', { batchSize: 1 })
    group.addConsumer('c', () => new Promise(() => {}))
    const started = performance.now()
    const starting = group.start({
      from: 'beginning',
      backfill: { scope: 'retained', maxMessages: 'all' },
    })
    const during = await load(tidemark, ended)
    const seconds = (performance.now() - started) / 1_000
    await starting
    await group.stop({ timeout: 1 })
    const rate = (await ended) / seconds
    return [
      figure({ case: 'backfill', engine: bench.engine.name, ours: rate, unit: '/s' }),
      ...(['publish', 'deliver'] as const).map(
        (what): Figure =>
          figure({
            ...{ case: `p95 of ${what} during a backfill`, engine: bench.engine.name, unit: 'ms', target: MOST },
            ...{ ours: p95(during[what]), raw: p95(live[what]), note: 'raw: before it' },
          }),
      ),
    ]
  },
}

type Times = { readonly publish: number[]; readonly deliver: number[] }

/** One message after another, each published, claimed and acked, until the promise resolves. */
async function load(tidemark: Tidemark, end: Promise<unknown>): Promise<Times> {
  const times: Times = { publish: [], deliver: [] }
  let isOver = false
  end.then(() => {
    isOver = true
  })
  await using reader = tidemark.reader(TOPIC, { group: 'live' })
  await reader.ready()
  while (!isOver || times.publish.length < 20) {
    const started = performance.now()
    await tidemark.publish(TOPIC, { orderId: 1 })
    const published = performance.now()
    const delivery = await reader.receive()
    times.publish.push(published - started)
    times.deliver.push(performance.now() - published)
    await delivery.ack()
  }
  return times
}

const p95 = (values: readonly number[]): number => percentile(values, 0.95)

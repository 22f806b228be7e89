import { open, type Tracking } from 'tidemark'
import { type Figure, figure } from '../../figure.ts'
import { interleave } from '../../interleave.ts'
import { ENGINES } from '../../suite.ts'
import type { Bench, BenchCase } from '../../topics/bench-case.ts'
import type { Writes } from '../../topics/engines/engine.ts'
import { PAGE } from '../../topics/log-filling.ts'
import { orders } from '../../topics/payloads.ts'

const GROUPS = [4, 8, 16, 32] as const
const MESSAGES = 20_000

let topics = 0

/** Publish and consume at once, as a topic lives: the groups are there before the messages. */
export const tracking: BenchCase = {
  name: 'tracking',
  about: 'reference against offset tracking with 4, 8, 16 and 32 groups: throughput, log bloat, WAL',
  engines: ENGINES,
  async run(bench) {
    const figures: Figure[] = []
    const messages = bench.size(MESSAGES)
    for (const groups of GROUPS) {
      const side = (kind: Tracking) => () => throughput(bench, kind, groups, messages)
      const { medians, samples } = await interleave(bench.rounds, {
        offset: side('offset'),
        reference: side('reference'),
      })
      const measured = { engine: bench.engine.name, note: 'raw: offset tracking; deliveries' } as const
      figures.push(
        figure({
          ...{ case: `reference tracking, ${groups} groups`, ...measured, unit: '/s' },
          ...{ ours: medians.reference, raw: medians.offset },
          samples: { raw: samples.offset, ours: samples.reference },
        }),
        ...(await writes(bench, groups, messages)),
      )
      bench.progress(`${groups} groups done`)
    }
    return figures
  },
}

async function throughput({ engine }: Bench, kind: Tracking, groups: number, messages: number): Promise<number> {
  await using tidemark = await open(engine.url)
  const topic = `tracking-${++topics}`
  await tidemark.configureTopic(topic, { semantics: 'pub-sub', tracking: kind })
  const all = Promise.withResolvers<void>()
  let left = messages * groups
  tidemark.on('acked', ({ count }) => {
    left -= count
    if (left <= 0) all.resolve()
  })
  for (let number = 0; number < groups; number++) {
    const group = tidemark.consumerGroup(topic, `g${number}`, { batchSize: PAGE })
    group.addConsumer('c', async () => {})
    await group.start()
  }
  const payloads = orders(PAGE)
  const started = performance.now()
  for (let sent = 0; sent < messages; sent += PAGE)
    await tidemark.publishBatch(topic, payloads.slice(0, messages - sent))
  await all.promise
  return (messages * groups) / ((performance.now() - started) / 1_000)
}

async function writes(bench: Bench, groups: number, messages: number): Promise<Figure[]> {
  const [offset, reference] = [
    await writesOf(bench, 'offset', groups, messages),
    await writesOf(bench, 'reference', groups, messages),
  ]
  const measured = { engine: bench.engine.name, note: 'raw: offset tracking; per published message' } as const
  return [
    figure({
      ...{ case: `WAL, reference tracking, ${groups} groups`, ...measured, unit: 'B/msg' },
      ...{ ours: reference.walBytes / messages, raw: offset.walBytes / messages },
    }),
    figure({
      ...{ case: `rows of the log written, ${groups} groups`, ...measured, unit: 'rows' },
      ...{ ours: reference.logRows, raw: offset.logRows },
    }),
  ]
}

async function writesOf(bench: Bench, kind: Tracking, groups: number, messages: number): Promise<Writes> {
  await using counter = await bench.engine.countWrites()
  await throughput(bench, kind, groups, messages)
  return await counter.read()
}

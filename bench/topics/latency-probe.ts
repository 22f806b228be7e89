import type { Tidemark } from 'tidemark'
import { type Figure, figure, type Target } from '../figure.ts'
import { percentile } from '../statistics.ts'
import type { Bench } from './bench-case.ts'
import type { RawTable } from './engines/engine.ts'
import { monotonicMs } from './monotonic.ts'
import { steadyOrders, type TimedOrder } from './steady-publishing.ts'

const PARTS = 4

/**
 * Latencies from the call of publish to the start of the handler, while `publish` sends `count` messages to the topic.
 * The first tenth, up to 50, warms up and is left out.
 */
export async function handlerLatencies(
  tidemark: Tidemark,
  topic: string,
  count: number,
  publish: (count: number) => Promise<void>,
): Promise<number[]> {
  await tidemark.configureTopic(topic, { semantics: 'pub-sub' })
  const latencies: number[] = []
  const complete = Promise.withResolvers<void>()
  const group = tidemark.consumerGroup<TimedOrder>(topic, 'latency').addConsumer('consumer', async ({ payload }) => {
    latencies.push(monotonicMs() - payload.sentAt)
    if (latencies.length === count) complete.resolve()
  })
  await group.start({ from: 'now' })
  await publish(count)
  await complete.promise
  await group.stop()
  return latencies.slice(Math.min(50, Math.floor(count / 10)))
}

/** How long one insert takes at the same pace: no message can be seen before it is stored. */
export async function insertLatencies(table: RawTable, count: number): Promise<number[]> {
  const latencies: number[] = []
  for await (const payload of steadyOrders(count)) {
    await table.insertOne(JSON.stringify(payload))
    latencies.push(monotonicMs() - payload.sentAt)
  }
  return latencies
}

/** Raw and ours in turn, a part of the messages each time. */
export async function latencyFigures(
  bench: Bench,
  name: string,
  count: number,
  sides: { raw: (count: number) => Promise<number[]>; ours: (count: number) => Promise<number[]> },
  target: Target | undefined,
): Promise<Figure[]> {
  const raw: number[] = []
  const ours: number[] = []
  for (let part = 0; part < PARTS; part++) {
    raw.push(...(await sides.raw(Math.ceil(count / PARTS))))
    ours.push(...(await sides.ours(Math.ceil(count / PARTS))))
  }
  const measured = { engine: bench.engine.name, unit: 'ms', note: 'at 100/s; raw: one insert' } as const
  return [
    figure({
      case: `${name}, p50`,
      ...measured,
      ours: percentile(ours, 0.5),
      raw: percentile(raw, 0.5),
      ...(target && { target }),
    }),
    figure({ case: `${name}, p99`, ...measured, ours: percentile(ours, 0.99), raw: percentile(raw, 0.99) }),
  ]
}

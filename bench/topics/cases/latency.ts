import { open } from 'tidemark'
import { atMost } from '../../figure.ts'
import { ENGINES, type EngineName } from '../../suite.ts'
import type { BenchCase } from '../bench-case.ts'
import { handlerLatencies, insertLatencies, latencyFigures } from '../latency-probe.ts'
import { publishSteadily } from '../steady-publishing.ts'

const MESSAGES = 2_000
const MOST_MS: { readonly [engine in EngineName]: number } = { sqlite: 2, postgres: 6 }
const TOPIC = 'latency'

export const latency: BenchCase = {
  name: 'latency',
  about: 'from publish to the handler in one process, at 100 messages a second',
  engines: ENGINES,
  async run(bench) {
    const { engine } = bench
    await using tidemark = await open(engine.url)
    await using table = await engine.rawTable('latency')
    const publish = (count: number): Promise<void> =>
      publishSteadily(count, payload => tidemark.publish(TOPIC, payload))
    const sides = {
      raw: (count: number) => insertLatencies(table, count),
      ours: (count: number) => handlerLatencies(tidemark, TOPIC, count, publish),
    }
    const target = atMost(MOST_MS[engine.name], 'ms')
    return await latencyFigures(bench, 'latency in one process', bench.size(MESSAGES), sides, target)
  },
}

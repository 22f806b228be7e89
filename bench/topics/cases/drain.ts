import { open, type Tidemark } from 'tidemark'
import { type Figure, figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import { ENGINES, type EngineName } from '../../suite.ts'
import type { Bench, BenchCase } from '../bench-case.ts'
import { consumeAll } from '../consume-all.ts'
import type { RawTable } from '../engines/engine.ts'
import { fillTable, fillTopic, PAGE } from '../log-filling.ts'

const MESSAGES = 200_000
const TOPIC = 'drain'
const FRESH: { readonly [engine in EngineName]: string } = {
  sqlite: 'batchSize 1000; once, cold',
  postgres: 'batchSize 1000; once, cold, before any ANALYZE',
}

export const drain: BenchCase = {
  name: 'drain',
  about: 'one group claims, decodes, handles and acks 200 000 messages, next to reading as many rows in pages of 1000',
  engines: ENGINES,
  async run(bench) {
    const { engine } = bench
    await using tidemark = await open(engine.url)
    await using table = await engine.rawTable('drain')
    const messages = bench.size(MESSAGES)
    await fillTopic(tidemark, TOPIC, messages)
    await fillTable(table, messages)
    bench.progress('filled')
    const fresh = await consumeAll(tidemark, { topic: TOPIC, messages, groups: 1, batchSize: PAGE })
    await engine.gatherStatistics()
    const figures = await measure(bench, tidemark, table, messages)
    const raw = figures[0]?.raw ?? 0
    const measured = { engine: engine.name, unit: '/s', raw, ours: fresh, note: FRESH[engine.name] } as const
    return [
      ...figures,
      figure({ case: `${nameOf(messages)}, just published`, ...measured }),
      ...(engine.name === 'sqlite' ? await measureUndurable(bench, table, messages) : []),
    ]
  },
}

async function measure({ engine, rounds }: Bench, tidemark: Tidemark, table: RawTable, messages: number) {
  const { medians, samples } = await interleave(rounds, {
    raw: () => rateOf(messages, () => table.readAll(PAGE)),
    ours: () => consumeAll(tidemark, { topic: TOPIC, messages, groups: 1, batchSize: PAGE }),
    payloads: () => rateOf(messages, () => table.readPayloads(PAGE)),
    parsed: () => rateOf(messages, () => table.readAndParse(PAGE)),
    byDefault: () => consumeAll(tidemark, { topic: TOPIC, messages, groups: 1 }),
  })
  const measured = { engine: engine.name, unit: '/s', raw: medians.raw } as const
  return [
    figure({
      case: `${nameOf(messages)}, 1 group`,
      ...measured,
      ours: medians.ours,
      target: ratioAtLeast(0.5),
      note: 'batchSize 1000; raw: a message’s columns',
      samples: { raw: samples.raw, ours: samples.ours },
    }),
    figure({
      case: `${nameOf(messages)}, 1 group`,
      ...measured,
      raw: medians.payloads,
      ours: medians.ours,
      note: 'batchSize 1000; raw: id and payload alone, not decoded',
      samples: { raw: samples.payloads, ours: samples.ours },
    }),
    figure({
      case: `${nameOf(messages)}, 1 group`,
      ...measured,
      raw: medians.parsed,
      ours: medians.ours,
      note: 'batchSize 1000; raw: a message’s columns, and JSON.parse of the payload',
      samples: { raw: samples.parsed, ours: samples.ours },
    }),
    figure({
      case: `${nameOf(messages)}, default batch`,
      ...measured,
      ours: medians.byDefault,
      note: 'batchSize 200',
      samples: { raw: samples.raw, ours: samples.byDefault },
    }),
  ]
}

/** What is left when no commit waits for the disk: on a busy disk those waits are most of a drain. */
async function measureUndurable({ engine, rounds }: Bench, table: RawTable, messages: number): Promise<Figure[]> {
  await using tidemark = await open(engine.url, { durability: 'process' })
  const { medians, samples } = await interleave(rounds, {
    raw: () => rateOf(messages, () => table.readAll(PAGE)),
    ours: () => consumeAll(tidemark, { topic: TOPIC, messages, groups: 1, batchSize: PAGE }),
  })
  const note = `batchSize 1000, durability 'process'`
  return [figure({ case: `${nameOf(messages)}, no fsync`, engine: engine.name, unit: '/s', ...medians, samples, note })]
}

const nameOf = (messages: number): string => `drain ${messages.toLocaleString('en-US')}`

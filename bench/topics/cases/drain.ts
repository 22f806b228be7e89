import { open } from 'tidemark'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import { ENGINES, type EngineName } from '../../suite.ts'
import type { BenchCase } from '../bench-case.ts'
import { consumeAll } from '../consume-all.ts'
import { fillTable, fillTopic, PAGE } from '../log-filling.ts'

const MESSAGES = 200_000
const FRESH: { readonly [engine in EngineName]: string } = {
  sqlite: 'batchSize 1000; once, cold',
  postgres: 'batchSize 1000; once, cold, before any ANALYZE',
}

export const drain: BenchCase = {
  name: 'drain',
  about: 'one group claims, decodes, handles and acks 200 000 messages, next to reading as many rows in pages of 1000',
  engines: ENGINES,
  async run({ engine, rounds, size, progress }) {
    await using tidemark = await open(engine.url)
    await using table = await engine.rawTable('drain')
    const messages = size(MESSAGES)
    await fillTopic(tidemark, 'drain', messages)
    await fillTable(table, messages)
    progress('filled')
    const fresh = await consumeAll(tidemark, { topic: 'drain', messages, groups: 1, batchSize: PAGE })
    await engine.gatherStatistics()
    const { medians, samples } = await interleave(rounds, {
      raw: () => rateOf(messages, () => table.readAll(PAGE)),
      ours: () => consumeAll(tidemark, { topic: 'drain', messages, groups: 1, batchSize: PAGE }),
      byDefault: () => consumeAll(tidemark, { topic: 'drain', messages, groups: 1 }),
    })
    const { raw, ours, byDefault } = medians
    const drained = `drain ${messages.toLocaleString('en-US')}`
    const measured = { engine: engine.name, unit: '/s', raw } as const
    return [
      figure({
        case: `${drained}, 1 group`,
        ...measured,
        ours,
        target: ratioAtLeast(0.5),
        note: 'batchSize 1000',
        samples: { raw: samples.raw, ours: samples.ours },
      }),
      figure({
        case: `${drained}, default batch`,
        ...measured,
        ours: byDefault,
        note: 'batchSize 200',
        samples: { raw: samples.raw, ours: samples.byDefault },
      }),
      figure({
        case: `${drained}, just published`,
        ...measured,
        ours: fresh,
        note: FRESH[engine.name],
      }),
    ]
  },
}

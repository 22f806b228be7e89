import { open } from 'tidemark'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import { ENGINES } from '../../suite.ts'
import type { BenchCase } from '../bench-case.ts'
import { PAGE } from '../log-filling.ts'
import { orders, orderTexts } from '../payloads.ts'

const BATCHES = 100

export const publishBatch: BenchCase = {
  name: 'publish-batch',
  about: 'publishBatch of 1000, one caller, next to inserts of 1000 rows a transaction',
  engines: ENGINES,
  async run({ engine, rounds, size }) {
    await using tidemark = await open(engine.url)
    await using table = await engine.rawTable('publish_batch')
    await tidemark.configureTopic('publish-batch', { semantics: 'pub-sub' })
    const count = size(BATCHES)
    const payloads = orders(PAGE)
    const raw = Array.from({ length: count }, () => table.prepareBatch(orderTexts(PAGE)))
    const { medians, samples } = await interleave(rounds, {
      raw: () => rateOf(count * PAGE, () => table.insertBatches(raw)),
      ours: () =>
        rateOf(count * PAGE, async () => {
          for (let batch = 0; batch < count; batch++) await tidemark.publishBatch('publish-batch', payloads)
        }),
    })
    const measured = { engine: engine.name, unit: '/s', samples, target: ratioAtLeast(0.5) } as const
    return [figure({ case: 'publishBatch of 1000', ...measured, ...medians })]
  },
}

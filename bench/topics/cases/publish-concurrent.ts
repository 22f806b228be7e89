import { open } from 'tidemark'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import { ENGINES } from '../../suite.ts'
import type { BenchCase } from '../bench-case.ts'
import { order } from '../payloads.ts'

const CALLERS = 200
const PER_CALLER = 200
const RAW_INSERTS = 2_000

export const publishConcurrent: BenchCase = {
  name: 'publish-concurrent',
  about: 'publish awaited by 200 concurrent callers, next to one insert per transaction',
  engines: ENGINES,
  async run({ engine, rounds, size }) {
    await using tidemark = await open(engine.url)
    await using table = await engine.rawTable('publish_concurrent')
    await tidemark.configureTopic('publish-concurrent', { semantics: 'pub-sub' })
    const payload = order(1)
    const text = JSON.stringify(payload)
    const perCaller = size(PER_CALLER)
    const inserts = size(RAW_INSERTS)
    const call = async (): Promise<void> => {
      for (let count = 0; count < perCaller; count++) await tidemark.publish('publish-concurrent', payload)
    }
    const { medians, samples } = await interleave(rounds, {
      raw: () =>
        rateOf(inserts, async () => {
          for (let count = 0; count < inserts; count++) await table.insertOne(text)
        }),
      ours: () => rateOf(perCaller * CALLERS, () => Promise.all(Array.from({ length: CALLERS }, call))),
    })
    const measured = { engine: engine.name, unit: '/s', samples, target: ratioAtLeast(10) } as const
    return [figure({ case: 'publish, 200 callers', ...measured, ...medians, note: 'raw: one insert per transaction' })]
  },
}

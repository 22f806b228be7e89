import { type Cells, decodeRawTick, encodeTick, environmentIndexer, openRunIndex } from '@tidemark/pipeline'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import { worldTicks } from '../../pipeline/world.ts'
import type { IndexCase } from '../bench-case.ts'
import { FlushedIndex } from '../flushed-index.ts'
import { StoredWorld } from '../world.ts'

const TICKS = 200
const READS = 600
const REGION = { from: [40, 40], to: [59, 59] }

export const reading: IndexCase = {
  name: 'reading',
  about: 'a region of 20 × 20, next to the whole tick, both as JSON',
  async run({ engine, rounds, size }) {
    using world = await StoredWorld.of(0, 0)
    await world.freshIndex(engine)
    await using index = await FlushedIndex.open(world, engine, environmentIndexer())
    await index.flush(worldTicks(world.runId, TICKS).map(tick => decodeRawTick(encodeTick(tick).bytes)))
    await using run = await openRunIndex(engine.address, world.runId)
    const reads = size(READS)
    const repeat = (read: (tick: number) => Promise<unknown>) => () =>
      rateOf(reads, async () => {
        for (let time = 0; time < reads; time++) await read(time % TICKS)
      })
    const { medians, samples } = await interleave(rounds, {
      whole: repeat(async tick => toJson(await run.environment.cells(tick))),
      region: repeat(async tick => toJson(await run.environment.cells(tick, REGION))),
      bytes: repeat(tick => run.environment.bytes(tick)),
    })
    const common = { engine: engine.name, unit: '/s' } as const
    return [
      figure({
        case: 'read a region of 20 × 20',
        ...common,
        ours: medians.region,
        raw: medians.whole,
        samples: { ours: samples.region, raw: samples.whole },
        target: ratioAtLeast(3),
        note: 'from the index to JSON, as the server answers; raw: the whole tick likewise; both with 8 MiB of recent ticks kept',
      }),
      figure({ case: 'read a whole tick as bytes', ...common, ours: medians.bytes, samples: { ours: samples.bytes } }),
    ]
  },
}

/** As the server answers. */
function toJson(cells: Cells | null): string {
  if (cells === null) throw new Error('A tick is missing')
  return JSON.stringify(Object.fromEntries(Object.entries(cells).map(([name, column]) => [name, Array.from(column)])))
}

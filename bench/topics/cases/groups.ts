import { open } from 'tidemark'
import { type Figure, figure, ratioAtLeast } from '../../figure.ts'
import { interleave } from '../../interleave.ts'
import { ENGINES, type EngineName } from '../../suite.ts'
import type { Bench, BenchCase } from '../bench-case.ts'
import { consumeAll } from '../consume-all.ts'
import { fillTopic, PAGE } from '../log-filling.ts'

/** More groups read a shorter log, so that each run takes seconds. */
const SIZES = [
  { groups: 1, messages: 200_000 },
  { groups: 4, messages: 100_000 },
  { groups: 16, messages: 50_000 },
  { groups: 64, messages: 25_000 },
] as const

/** Times the single group's rate. With bytes shared, parsing stays, and on SQLite it is the limit. */
const LEAST: { readonly [engine in EngineName]: number } = { sqlite: 1, postgres: 2 }
const LEAST_WITH_SHARED_PAYLOADS = 3
const JUDGED = 16

export const groups: BenchCase = {
  name: 'groups',
  about: 'drain by 1, 4, 16 and 64 groups in one process, payloads decoded by each group and shared',
  engines: ENGINES,
  async run(bench) {
    await fillAll(bench)
    // Opened for each sample: what an earlier one has read is in nobody's cache.
    const side = (size: (typeof SIZES)[number], sharedPayloads: boolean) => async () => {
      await using tidemark = await open(bench.engine.url)
      return await consumeAll(tidemark, {
        topic: `groups-${size.groups}`,
        messages: bench.size(size.messages),
        groups: size.groups,
        batchSize: PAGE,
        sharedPayloads,
      })
    }
    const [one, ...more] = SIZES
    const figures: Figure[] = []
    for (const size of more) {
      // A round takes as long as two of the other cases.
      const { medians, samples } = await interleave(Math.ceil(bench.rounds / 2), {
        one: side(one, false),
        each: side(size, false),
        shared: side(size, true),
      })
      figures.push(...toFigures(bench, size.groups, medians, samples))
      bench.progress(`${size.groups} groups done`)
    }
    return figures
  },
}

async function fillAll({ engine, size, progress }: Bench): Promise<void> {
  await using tidemark = await open(engine.url)
  for (const { groups, messages } of SIZES) await fillTopic(tidemark, `groups-${groups}`, size(messages))
  await engine.gatherStatistics()
  progress('filled')
}

type Sides<T> = { readonly one: T; readonly each: T; readonly shared: T }

function toFigures(
  { engine }: Bench,
  count: number,
  medians: Sides<number>,
  samples: Sides<readonly number[]>,
): Figure[] {
  const measured = { engine: engine.name, unit: '/s', raw: medians.one, note: 'raw: 1 group; batchSize 1000' } as const
  const isJudged = count >= JUDGED
  return [
    figure({
      case: `drain by ${count} groups`,
      ...measured,
      ours: medians.each,
      samples: { raw: samples.one, ours: samples.each },
      ...(isJudged && { target: ratioAtLeast(LEAST[engine.name]) }),
    }),
    figure({
      case: `drain by ${count} groups, sharedPayloads`,
      ...measured,
      ours: medians.shared,
      samples: { raw: samples.one, ours: samples.shared },
      ...(isJudged && { target: ratioAtLeast(LEAST_WITH_SHARED_PAYLOADS) }),
    }),
  ]
}

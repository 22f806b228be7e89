import { type Cells, DEFAULT_LIMITS, decodeCells, encodeCells, makeRunId } from '@tidemark/pipeline'
import { figure, ratioAtLeast } from '../../figure.ts'
import { interleave, rateOf } from '../../interleave.ts'
import type { PipelineCase } from '../bench-case.ts'
import { decodeRows, encodeRows, toRows } from '../cell-rows.ts'
import { worldTicks } from '../world.ts'

const WORLDS = 20
const TIMES = 8_000
/** Rows are so much slower that a twelfth of them takes as long. */
const ROW_TIMES = TIMES / 12
const measured = { engine: '-', unit: '/s', target: ratioAtLeast(10) } as const
const note = 'ticks; raw: protobuf-es, one sub-message a cell'

export const cells: PipelineCase = {
  name: 'cells',
  about: 'cell columns to bytes and back, next to protobuf-es with one sub-message a cell',
  async run({ rounds, size }) {
    const all = worldTicks(makeRunId(), WORLDS).map(tick => tick.cells)
    const rows = all.map(toRows)
    const encode = await interleave(rounds, {
      raw: () => repeat(size(ROW_TIMES), rows, encodeRows),
      ours: () => repeat(size(TIMES), all, encodeCells),
    })
    const decode = await interleave(rounds, {
      raw: () => repeat(size(ROW_TIMES), rows.map(encodeRows), decodeRows),
      ours: () => repeat(size(TIMES), all.map(encodeCells), (bytes): Cells => decodeCells(bytes, DEFAULT_LIMITS)),
    })
    return [
      figure({ case: 'encode 5000 cells', ...measured, ...encode.medians, samples: encode.samples, note }),
      figure({ case: 'decode 5000 cells', ...measured, ...decode.medians, samples: decode.samples, note }),
    ]
  },
}

async function repeat<T>(times: number, inputs: readonly T[], work: (input: T) => unknown): Promise<number> {
  return await rateOf(times, () => {
    for (let time = 0; time < times; time++) work(inputs[time % inputs.length] as T)
  })
}

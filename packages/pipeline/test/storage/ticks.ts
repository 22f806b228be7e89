import { randomBytes } from 'node:crypto'
import { type EncodedTick, encodeTick } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'

/** Small ticks with these numbers; what is in them follows from the number, unless it is to be incompressible. */
export function ticksOf(
  numbers: readonly number[],
  { runId = RUN_ID, genomeBytes = 3, isRandom = false } = {},
): EncodedTick[] {
  return numbers.map(tick =>
    encodeTick({
      runId,
      tick,
      capturedAt: 1_760_000_000_000,
      cells: {
        flatIndex: Int32Array.of(tick % 1_000, 5_000),
        moleculeType: Int32Array.of(1, 2),
        moleculeValue: Int32Array.of(-7, tick % 1_000),
        ownerId: Int32Array.of(3, -1),
      },
      organisms: [
        {
          id: 3,
          parentId: null,
          birthTick: 0,
          lineage: 1,
          energy: tick / 2,
          position: [1, 2],
          direction: [0, -1],
          genome: isRandom ? randomBytes(genomeBytes) : new Uint8Array(genomeBytes).fill(tick & 0xff),
          isDead: false,
        },
      ],
    }),
  )
}

export const range = (start: number, count: number, step = 1): number[] =>
  Array.from({ length: count }, (_, slot) => start + slot * step)

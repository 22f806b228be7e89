import type { Cells, Organism, Tick } from '@tidemark/pipeline'

const SIDE = 100
const OCCUPIED = 5_000
const ORGANISMS = 100

/**
 * Ticks of a 100 × 100 world with 5000 occupied cells: organisms own patches, most cells stay from tick to tick, a
 * tenth of the values change. The same for every run.
 */
export function worldTicks(runId: string, count: number): Tick[] {
  const random = mulberry32(42)
  const cells = firstCells(random)
  return Array.from({ length: count }, (_, tick) => {
    for (let change = 0; change < OCCUPIED / 10; change++) {
      cells.moleculeValue[Math.floor(random() * OCCUPIED)] = Math.floor(random() * 400) - 100
    }
    return { runId, tick, capturedAt: 1_760_000_000_000 + tick, cells: copy(cells), organisms: organisms(random, tick) }
  })
}

function firstCells(random: () => number): Cells {
  const flatIndex = chosenIndexes(random)
  return {
    flatIndex,
    moleculeType: flatIndex.map(() => Math.floor(random() * 4)),
    moleculeValue: flatIndex.map(() => Math.floor(random() * 400) - 100),
    ownerId: flatIndex.map(index => Math.floor(index / 100) % ORGANISMS),
  }
}

function chosenIndexes(random: () => number): Int32Array {
  const chosen = new Set<number>()
  while (chosen.size < OCCUPIED) chosen.add(Math.floor(random() * SIDE * SIDE))
  return Int32Array.from(chosen).sort()
}

function organisms(random: () => number, tick: number): Organism[] {
  return Array.from({ length: ORGANISMS }, (_, id) => ({
    id,
    parentId: id < 10 ? null : id % 10,
    birthTick: id * 3,
    lineage: id % 10,
    energy: random() * 1_000,
    position: [(id + tick) % SIDE, (id * 7) % SIDE],
    direction: [id % 2 === 0 ? 1 : -1, 0],
    genome: Uint8Array.from({ length: 32 }, (_, byte) => (id * 31 + byte * 7) & 0xff),
    isDead: false,
  }))
}

const copy = (cells: Cells): Cells => ({
  flatIndex: cells.flatIndex.slice(),
  moleculeType: cells.moleculeType.slice(),
  moleculeValue: cells.moleculeValue.slice(),
  ownerId: cells.ownerId.slice(),
})

function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

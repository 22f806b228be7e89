import type { TickRange } from '../databases/ledger-store.ts'
import { BLOCK_TICKS, type TickBlobs } from '../databases/tick-blobs.ts'

/** Ticks `start`, `start + step`, … `end`. */
export type TickSequence = readonly [start: number, end: number, step: number]

export type TickSequences = {
  readonly ranges: readonly TickSequence[]
  /** Tick from which to continue, or null if these are all. */
  readonly next: number | null
}

/** Blocks and ticks that are read at once. The ticks of a full block need not be read. */
const BLOCKS_AT_ONCE = 2_000
/** The rest is on the next page: after 5 million ticks, or this many if every block has gaps. */
const MOST_PAGES = 10
const MOST_TICKS = 50_000

/** Which ticks of a range exist, as sequences without a gap, up to a limit. The range begins at a sampled tick. */
export async function readSequences(
  ticks: TickBlobs,
  { tickStart, tickEnd }: TickRange,
  step: number,
  most: number,
): Promise<TickSequences> {
  const found = new Sequences(step)
  let at = tickStart
  let looked = 0
  for (let page = 0; at <= tickEnd; page++) {
    if (page === MOST_PAGES) return { ranges: found.ranges, next: at }
    const blocks = await ticks.blocks(blockOf(at), blockOf(tickEnd), BLOCKS_AT_ONCE)
    for (const { block, ticks: count } of blocks) {
      const end = Math.min(tickEnd, (block + 1) * BLOCK_TICKS - 1)
      const first = firstSample(Math.max(at, block * BLOCK_TICKS), tickStart, step)
      const last = first + Math.floor((end - first) / step) * step
      if (count === samplesIn(block, tickStart, step)) {
        if (first <= end) found.add(first, last)
      } else {
        for (const tick of await ticks.ticksIn({ tickStart: first, tickEnd: end }, BLOCK_TICKS)) found.add(tick, tick)
        looked += count
      }
      at = end + 1
      if (found.ranges.length > most) return { ranges: found.ranges.slice(0, most), next: found.startOf(most) }
      if (looked > MOST_TICKS && at <= tickEnd) return { ranges: found.ranges, next: at }
    }
    if (blocks.length < BLOCKS_AT_ONCE) break
  }
  return { ranges: found.ranges, next: null }
}

/** First tick of the samples at or after one. */
const firstSample = (tick: number, sample: number, step: number): number =>
  tick + ((((sample - tick) % step) + step) % step)

/** Ticks of a complete block. */
function samplesIn(block: number, sample: number, step: number): number {
  const first = firstSample(block * BLOCK_TICKS, sample, step)
  return first >= (block + 1) * BLOCK_TICKS ? 0 : Math.floor(((block + 1) * BLOCK_TICKS - 1 - first) / step) + 1
}

/** Ticks between the sequences, and before and after them within the range. */
export function gapsBetween(
  ranges: readonly TickSequence[],
  { tickStart, tickEnd }: TickRange,
  step: number,
): (readonly [start: number, end: number])[] {
  const gaps: (readonly [start: number, end: number])[] = []
  let next = tickStart
  for (const [start, end] of ranges) {
    if (start > next) gaps.push([next, start - step])
    next = end + step
  }
  if (next <= tickEnd) gaps.push([next, tickEnd])
  return gaps
}

const blockOf = (tick: number): number => Math.floor(tick / BLOCK_TICKS)

class Sequences {
  readonly ranges: [start: number, end: number, step: number][] = []
  readonly #step: number

  constructor(step: number) {
    this.#step = step
  }

  add(start: number, end: number): void {
    const last = this.ranges.at(-1)
    if (last !== undefined && last[1] + this.#step === start) last[1] = end
    else this.ranges.push([start, end, this.#step])
  }

  startOf(index: number): number | null {
    return this.ranges[index]?.[0] ?? null
  }
}

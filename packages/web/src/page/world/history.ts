import type { Frame } from './plane.ts'
import { ROWS } from './rows.ts'

/** The tick of a row. */
export const tickOfRow = (row: number, tick: number, interval: number): number => tick - (ROWS - 1 - row) * interval

/** The ticks that the rows above need, the nearest first. */
export const rowsBefore = (tick: number, first: number, interval: number): number[] =>
  Array.from({ length: ROWS - 1 }, (_, index) => tick - (index + 1) * interval).filter(each => each >= first)

type Loaded = { peek(tick: number): Frame | undefined }

/** A world of one dimension over time, from the ticks that are loaded. */
export function historyOf(newest: Frame, frames: Loaded, interval: number): Frame {
  const { width, tick } = newest
  const size = width * ROWS
  const made: Frame = {
    tick,
    width,
    height: ROWS,
    type: new Uint8Array(size),
    value: new Int32Array(size),
    owner: new Int32Array(size),
  }
  // The newest first: its memory is used again for the others.
  for (let row = ROWS - 1; row >= 0; row--) {
    const found = row === ROWS - 1 ? newest : frames.peek(tickOfRow(row, tick, interval))
    if (found === undefined) continue
    made.type.set(found.type, row * width)
    made.value.set(found.value, row * width)
    made.owner.set(found.owner, row * width)
  }
  return made
}

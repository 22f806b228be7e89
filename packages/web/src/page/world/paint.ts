import { TELLING } from './kinds.ts'
import { indexOf, lightOf } from './palette.ts'
import type { Frame } from './plane.ts'

/** Lookup tables for painting: the colours, the kind of each molecule type, and the slot of each owner. */
export type Paint = { readonly table: Uint32Array; readonly kinds: Uint8Array; readonly slots: Uint8Array }

/** The colour of one cell. */
export const colourAt = ({ type, value, owner }: Frame, { table, kinds, slots }: Paint, at: number): number =>
  table[
    indexOf(slots[owner[at] as number] ?? 0, kinds[type[at] as number] as number, lightOf(value[at] as number))
  ] as number

/**
 * Paints a frame with `step` cells per pixel. Zoomed out, a pixel shows the most significant cell in it, so that
 * organisms never vanish.
 */
export function paintFrame(frame: Frame, paint: Paint, step: number, pixels: Uint32Array): void {
  const { width, height, type } = frame
  if (step === 1) {
    for (let at = 0; at < type.length; at++) pixels[at] = colourAt(frame, paint, at)
    return
  }
  const columns = Math.ceil(width / step)
  const rows = Math.ceil(height / step)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const best = mostTelling(frame, paint.kinds, column * step, row * step, step)
      pixels[row * columns + column] = colourAt(frame, paint, best)
    }
  }
}

function mostTelling(frame: Frame, kinds: Uint8Array, left: number, top: number, step: number): number {
  const { width, height, type, value } = frame
  const [bottom, right] = [Math.min(height, top + step), Math.min(width, left + step)]
  let best = top * width + left
  let most = -1
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const at = y * width + x
      const telling = TELLING[kinds[type[at] as number] as number] as number
      if (telling < most || (telling === most && (value[at] as number) <= (value[best] as number))) continue
      best = at
      most = telling
    }
  }
  return best
}

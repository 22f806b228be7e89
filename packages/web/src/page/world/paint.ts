import { LIGHT_OF, LIGHTS, TYPES } from './palette.ts'
import type { Frame } from './plane.ts'

/** Lookup tables for painting: the colours, and the slot of each owner. */
export type Paint = { readonly table: Uint32Array; readonly slots: Uint8Array }

/**
 * Paints a frame with `step` cells per pixel. Zoomed out, a pixel shows the most significant cell in it (core before
 * toxin before structure before energy, which is their numeric order), so that organisms never vanish.
 */
export function paintFrame(frame: Frame, { table, slots }: Paint, step: number, pixels: Uint32Array): void {
  const { width, height, type, value, owner } = frame
  if (step === 1) {
    for (let at = 0; at < type.length; at++) {
      pixels[at] = table[indexOf(type[at] as number, value[at] as number, slots[owner[at] as number] ?? 0)] as number
    }
    return
  }
  const columns = Math.ceil(width / step)
  const rows = Math.ceil(height / step)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let best = row * step * width + column * step
      const [endY, endX] = [Math.min(height, (row + 1) * step), Math.min(width, (column + 1) * step)]
      for (let y = row * step; y < endY; y++) {
        for (let x = column * step; x < endX; x++) {
          const at = y * width + x
          const [mine, its] = [type[at] as number, type[best] as number]
          if (mine > its || (mine === its && (value[at] as number) > (value[best] as number))) best = at
        }
      }
      pixels[row * columns + column] = table[
        indexOf(type[best] as number, value[best] as number, slots[owner[best] as number] ?? 0)
      ] as number
    }
  }
}

function indexOf(type: number, value: number, slot: number): number {
  const light = value <= 0 ? 0 : value < LIGHT_OF.length ? (LIGHT_OF[value] as number) : LIGHTS - 1
  return (slot * TYPES + (type & (TYPES - 1))) * LIGHTS + light
}

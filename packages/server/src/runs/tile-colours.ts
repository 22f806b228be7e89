import type { TilePixels } from '@tidemark/pipeline'
import type { Colour } from '../answers/png.ts'

export type Theme = 'dark' | 'light'
export type Picture = { readonly pixels: Uint8Array; readonly palette: readonly Colour[] }

const hex = (text: string): Colour => [
  Number.parseInt(text.slice(0, 2), 16),
  Number.parseInt(text.slice(2, 4), 16),
  Number.parseInt(text.slice(4, 6), 16),
]

/** The colours of the page (packages/web), so that a thumbnail looks like the world that it opens. */
const MOLECULES: { readonly [theme in Theme]: { readonly [name: string]: Colour } } = {
  dark: { energy: hex('f0c419'), structure: hex('2b78c5'), toxin: hex('ff5c8a'), core: hex('ffffff') },
  light: { energy: hex('d99a00'), structure: hex('7fb2e5'), toxin: hex('d6336c'), core: hex('101418') },
}
const OTHERS = ['0072b2', 'e69f00', '009e73', 'cc79a7', '56b4e9', 'd55e00', 'f0e442'].map(hex)
/** Cividis, at equal distances. */
const SCALE = ['00224e', '35456c', '666970', '948e77', 'c8b866', 'fee838'].map(hex)
const LEVELS = 64
const MOST_TYPES = 255

export function colourTypes(pixels: TilePixels, names: readonly string[], theme: Theme): Picture {
  const palette = Array.from({ length: MOST_TYPES }, (_, index): Colour => {
    const type = index + 1
    return MOLECULES[theme][names[type] ?? ''] ?? cyclic(type)
  })
  return { pixels: pixels as Uint8Array, palette }
}

/** Owners and lineages: the same number always has the same colour. */
export function colourNumbers(pixels: TilePixels): Picture {
  const indexes = new Uint8Array(pixels.length)
  for (let at = 0; at < pixels.length; at++) {
    const number = (pixels[at] as number) >>> 0
    if (number !== 0) indexes[at] = 1 + (number % OTHERS.length)
  }
  return { pixels: indexes, palette: OTHERS.map((_, at) => cyclic(at)) }
}

/** On a logarithmic scale, from the least to the largest. */
export function colourValues(pixels: TilePixels): Picture {
  let largest = 1
  for (const value of pixels) largest = Math.max(largest, Math.abs(value))
  const indexes = new Uint8Array(pixels.length)
  for (let at = 0; at < pixels.length; at++) {
    const value = Math.abs(pixels[at] as number)
    if (value !== 0) indexes[at] = 1 + Math.round((Math.log1p(value) / Math.log1p(largest)) * (LEVELS - 1))
  }
  return { pixels: indexes, palette: Array.from({ length: LEVELS }, (_, level) => between(level / (LEVELS - 1))) }
}

const cyclic = (number: number): Colour => OTHERS[number % OTHERS.length] ?? [128, 128, 128]

function between(share: number): Colour {
  const place = share * (SCALE.length - 1)
  const low = Math.min(SCALE.length - 2, Math.floor(place))
  const [from, to] = [SCALE[low] ?? [0, 0, 0], SCALE[low + 1] ?? [0, 0, 0]]
  return from.map((part, at) => Math.round(part + ((to[at] ?? 0) - part) * (place - low))) as unknown as Colour
}

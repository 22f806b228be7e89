/** Colours of cells, computed once per scheme into a lookup table for painting. */

export const SCHEMES = ['lineage', 'type', 'value', 'owner'] as const
export type Scheme = (typeof SCHEMES)[number]

/** Brightness levels: the logarithm of a cell's value. */
export const LIGHTS = 64
/** Types with their own colours; further ones share them, by number. */
export const TYPES = 16

type Rgb = readonly [number, number, number]

/**
 * Colours of the seven largest lineages, distinguishable with colour blindness. Slot 0 is nobody's, slot 8 everybody
 * else's.
 */
export const LINEAGE_COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442'] as const
export const OTHERS_SLOT = LINEAGE_COLOURS.length + 1
const SLOTS = LINEAGE_COLOURS.length + 2

type Theme = { readonly isDark: boolean }

const TYPE_COLOURS: { readonly dark: readonly string[]; readonly light: readonly string[] } = {
  dark: ['#080b12', '#f0c419', '#2b78c5', '#ff5c8a', '#ffffff'],
  light: ['#f4f6f8', '#d99a00', '#7fb2e5', '#d6336c', '#101418'],
}

const CIVIDIS = ['#00224e', '#35456c', '#666970', '#948e77', '#c8b866', '#fee838'] as const

const EMPTY = 0
const ENERGY = 1
const TOXIN = 3
const CORE = 4

/** Food between the lineages: dim, so that organisms stand out against it. */
const MEADOW = {
  dark: ['#0a1019', '#0d1b26', '#12303a', '#1d4c50', '#36706a'],
  light: ['#eceff0', '#e4ebe6', '#d5e2d8', '#bfd3c4', '#a3bfae'],
} as const
const OTHERS = { dark: '#7d8796', light: '#8d96a3' } as const

/** The colour of every (slot, type, light), as little-endian RGBA as in ImageData. */
export function colourTable(scheme: Scheme, { isDark }: Theme): Uint32Array {
  const table = new Uint32Array(SLOTS * TYPES * LIGHTS)
  for (let slot = 0; slot < SLOTS; slot++) {
    for (let type = 0; type < TYPES; type++) {
      for (let light = 0; light < LIGHTS; light++) {
        table[(slot * TYPES + type) * LIGHTS + light] = packed(
          colourOf(scheme, slot, type, light / (LIGHTS - 1), isDark),
        )
      }
    }
  }
  return table
}

function colourOf(scheme: Scheme, slot: number, type: number, light: number, isDark: boolean): Rgb {
  const ground = typeColour(EMPTY, isDark)
  if (type === EMPTY) return ground
  if (scheme === 'value') return gradient(CIVIDIS, light)
  const own = typeColour(type, isDark)
  if (scheme === 'type') return mixed(ground, own, type === CORE ? 1 : 0.35 + 0.65 * light)
  if (type === ENERGY || slot === 0) return gradient(isDark ? MEADOW.dark : MEADOW.light, Math.min(1, light * 1.7))
  const lineage = slot === OTHERS_SLOT ? rgb(OTHERS[isDark ? 'dark' : 'light']) : lineageColour(slot, isDark)
  // The brightness of a core is its energy: white-hot in the dark theme, deep in the light one.
  if (type === CORE) return mixed(lineage, rgb(isDark ? '#ffffff' : '#101418'), 0.3 + 0.55 * light)
  // A trail fades behind its organism: its values are small, so the lower end of the scale is spread.
  const fresh = Math.min(1, light * 3)
  const trail = mixed(ground, lineage, isDark ? 0.12 + 0.78 * fresh * fresh : 0.2 + 0.8 * fresh)
  return type === TOXIN ? mixed(trail, own, 0.35) : trail
}

const lineageColour = (slot: number, _isDark: boolean): Rgb => rgb(LINEAGE_COLOURS[slot - 1] ?? '#888888')

function typeColour(type: number, isDark: boolean): Rgb {
  const named = (isDark ? TYPE_COLOURS.dark : TYPE_COLOURS.light)[type]
  return rgb(named ?? LINEAGE_COLOURS[type % LINEAGE_COLOURS.length] ?? '#888888')
}

export const typeColourText = (type: number, isDark: boolean): string => {
  const [r, g, b] = typeColour(type, isDark)
  return `rgb(${r} ${g} ${b})`
}

function gradient(stops: readonly string[], at: number): Rgb {
  const place = at * (stops.length - 1)
  const index = Math.min(stops.length - 2, Math.floor(place))
  return mixed(rgb(stops[index] ?? ''), rgb(stops[index + 1] ?? ''), place - index)
}

const rgb = (hex: string): Rgb => [1, 3, 5].map(at => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb

const mixed = (one: Rgb, other: Rgb, share: number): Rgb =>
  one.map((value, channel) => Math.round(value + ((other[channel] ?? 0) - value) * share)) as unknown as Rgb

const packed = ([r, g, b]: Rgb): number => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0

/** 0 to 63, by the logarithm of the value: 16 is half as bright as 400. */
export const LIGHT_OF = Uint8Array.from({ length: 1024 }, (_, value) =>
  Math.min(LIGHTS - 1, Math.round((Math.log2(value + 1) / 10) * (LIGHTS - 1))),
)

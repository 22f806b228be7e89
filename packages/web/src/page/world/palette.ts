import { CORE, EMPTY, ENERGY, KINDS, TOXIN } from './kinds.ts'

/** Colours of cells, made once per scheme into a table that painting only looks up. */

export const SCHEMES = ['lineage', 'type', 'value', 'owner'] as const
export type Scheme = (typeof SCHEMES)[number]

/** Levels of light: a cell's value, by its logarithm. */
const LIGHTS = 64

type Rgb = readonly [number, number, number]

/**
 * Colours of the seven largest lineages, distinguishable with colour blindness. Slot 0 is nobody's, slot 8 everybody
 * else's, slot 9 the picked one.
 */
export const LINEAGE_COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442'] as const
export const OTHERS_SLOT = LINEAGE_COLOURS.length + 1
export const PICKED_SLOT = OTHERS_SLOT + 1
const SLOTS = PICKED_SLOT + 1

export type Look = {
  readonly isDark: boolean
  /** The picked slot: all others are dimmed. */
  readonly picked?: number | undefined
}

const TYPE_COLOURS: { readonly dark: readonly string[]; readonly light: readonly string[] } = {
  dark: ['#080b12', '#f0c419', '#2b78c5', '#ff5c8a', '#ffffff'],
  light: ['#f4f6f8', '#d99a00', '#7fb2e5', '#d6336c', '#101418'],
}

const CIVIDIS = ['#00224e', '#35456c', '#666970', '#948e77', '#c8b866', '#fee838'] as const

/** Food beneath the lineages: dim, so that organisms stand out against it. */
const MEADOW = {
  dark: ['#0a1019', '#0d1b26', '#12303a', '#1d4c50', '#36706a'],
  light: ['#eceff0', '#e4ebe6', '#d5e2d8', '#bfd3c4', '#a3bfae'],
} as const
const OTHERS = { dark: '#7d8796', light: '#8d96a3' } as const
const PICKED = { dark: '#4cc2c9', light: '#0b6e75' } as const
const DIMMED = 0.82

/** The colour of every (slot, kind, light), as little-endian RGBA as in ImageData. */
export function colourTable(scheme: Scheme, look: Look): Uint32Array {
  const table = new Uint32Array(SLOTS * KINDS * LIGHTS)
  for (let slot = 0; slot < SLOTS; slot++) {
    for (let kind = 0; kind < KINDS; kind++) {
      for (let light = 0; light < LIGHTS; light++) {
        table[indexOf(slot, kind, light)] = packed(dimmed(scheme, slot, kind, light / (LIGHTS - 1), look))
      }
    }
  }
  return table
}

export const indexOf = (slot: number, kind: number, light: number): number => (slot * KINDS + kind) * LIGHTS + light

function dimmed(scheme: Scheme, slot: number, kind: number, light: number, { isDark, picked }: Look): Rgb {
  const colour = colourOf(scheme, slot, kind, light, isDark)
  if (picked === undefined || slot === picked || kind === EMPTY) return colour
  return mixed(colour, kindColour(EMPTY, isDark), DIMMED)
}

function colourOf(scheme: Scheme, slot: number, kind: number, light: number, isDark: boolean): Rgb {
  const ground = kindColour(EMPTY, isDark)
  if (kind === EMPTY) return ground
  if (scheme === 'value') return gradient(CIVIDIS, light)
  const own = kindColour(kind, isDark)
  if (scheme === 'type') return mixed(ground, own, kind === CORE ? 1 : 0.35 + 0.65 * light)
  if (kind === ENERGY || slot === 0) return gradient(isDark ? MEADOW.dark : MEADOW.light, Math.min(1, light * 1.7))
  const lineage = slotColour(slot, isDark)
  // The brightness of a core is its energy: white-hot in the dark theme, deep in the light one.
  if (kind === CORE) return mixed(lineage, rgb(isDark ? '#ffffff' : '#101418'), 0.3 + 0.55 * light)
  // A trail fades behind its organism. Its values are small, so the lower end of the scale is spread.
  const fresh = Math.min(1, light * 3)
  const trail = mixed(ground, lineage, isDark ? 0.12 + 0.78 * fresh * fresh : 0.2 + 0.8 * fresh)
  return kind === TOXIN ? mixed(trail, own, 0.35) : trail
}

function slotColour(slot: number, isDark: boolean): Rgb {
  const theme = isDark ? 'dark' : 'light'
  if (slot === PICKED_SLOT) return rgb(PICKED[theme])
  return rgb(LINEAGE_COLOURS[slot - 1] ?? OTHERS[theme])
}

export const slotColourText = (slot: number, isDark: boolean): string => text(slotColour(slot, isDark))

function kindColour(kind: number, isDark: boolean): Rgb {
  const named = (isDark ? TYPE_COLOURS.dark : TYPE_COLOURS.light)[kind]
  return rgb(named ?? LINEAGE_COLOURS[kind % LINEAGE_COLOURS.length] ?? '#888888')
}

export const kindColourText = (kind: number, isDark: boolean): string => text(kindColour(kind, isDark))

function gradient(stops: readonly string[], at: number): Rgb {
  const place = at * (stops.length - 1)
  const index = Math.min(stops.length - 2, Math.floor(place))
  return mixed(rgb(stops[index] ?? ''), rgb(stops[index + 1] ?? ''), place - index)
}

const rgb = (hex: string): Rgb => [1, 3, 5].map(at => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb

const text = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`

const mixed = (one: Rgb, other: Rgb, share: number): Rgb =>
  one.map((value, channel) => Math.round(value + ((other[channel] ?? 0) - value) * share)) as unknown as Rgb

const packed = ([r, g, b]: Rgb): number => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0

/** 0 to 63, by the logarithm of the value: 31 is half as bright as 1023. */
const LIGHT_OF = Uint8Array.from({ length: 1024 }, (_, value) =>
  Math.min(LIGHTS - 1, Math.round((Math.log2(value + 1) / 10) * (LIGHTS - 1))),
)

export const lightOf = (value: number): number =>
  value <= 0 ? 0 : value < LIGHT_OF.length ? (LIGHT_OF[value] as number) : LIGHTS - 1

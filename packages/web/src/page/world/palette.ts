/** Colours of cells, made once per scheme into a table that painting only looks up. */

export const SCHEMES = ['lineage', 'type', 'value', 'owner'] as const
export type Scheme = (typeof SCHEMES)[number]

/** Levels of light: a cell's value, by its logarithm. */
export const LIGHTS = 64
/** Types with colours of their own; further ones share them, by number. */
export const TYPES = 16

type Rgb = readonly [number, number, number]

/** The seven largest lineages, apart in every kind of sight. Slot 0 is nobody's, slot 8 everybody else's. */
export const LINEAGE_COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442'] as const
export const OTHERS_SLOT = LINEAGE_COLOURS.length + 1
const SLOTS = LINEAGE_COLOURS.length + 2

type Theme = { readonly isDark: boolean }

const TYPE_COLOURS: { readonly dark: readonly string[]; readonly light: readonly string[] } = {
  dark: ['#0b0e13', '#f0c419', '#2b78c5', '#ff5c8a', '#ffffff'],
  light: ['#eef1f4', '#d99a00', '#7fb2e5', '#d6336c', '#101418'],
}

const CIVIDIS = ['#00224e', '#35456c', '#666970', '#948e77', '#c8b866', '#fee838'] as const

const EMPTY = 0
const ENERGY = 1
const CORE = 4

/** The colour of every (slot, type, light), as little-endian RGBA: what an ImageData holds. */
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
  if (scheme === 'type' || slot === 0) {
    // Food glows faintly, so that what lives stands out against it.
    const strength = scheme === 'type' ? 0.35 + 0.65 * light : 0.1 + 0.35 * light
    return mixed(ground, own, type === CORE ? 1 : strength)
  }
  const lineage = slot === OTHERS_SLOT ? rgb(isDark ? '#8a93a0' : '#8d96a3') : rgb(LINEAGE_COLOURS[slot - 1] ?? '')
  if (type === CORE) return mixed(lineage, rgb(isDark ? '#ffffff' : '#101418'), 0.35 + 0.4 * light)
  if (type === ENERGY) return mixed(ground, own, 0.1 + 0.35 * light)
  return mixed(ground, lineage, 0.3 + 0.6 * light)
}

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

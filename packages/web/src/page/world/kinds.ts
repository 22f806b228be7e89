/**
 * The kind of a molecule, by its name: the four of the reference simulation have their own colours in any world that
 * has them.
 */
export const EMPTY = 0
export const ENERGY = 1
const STRUCTURE = 2
export const TOXIN = 3
export const CORE = 4
/** Further kinds, distinguished by number. */
const FIRST_OTHER = 5
export const KINDS = 12

const NAMED: { readonly [name: string]: number } = {
  empty: EMPTY,
  none: EMPTY,
  energy: ENERGY,
  structure: STRUCTURE,
  toxin: TOXIN,
  core: CORE,
}

/** The kind of each molecule type, by its number. Type 0 is the empty cell in every world. */
export const kindsOf = (names: readonly string[]): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, type) => {
    if (type === 0) return EMPTY
    const named = NAMED[names[type]?.toLowerCase() ?? '']
    if (named !== undefined && named !== EMPTY) return named
    return FIRST_OTHER + (type % (KINDS - FIRST_OTHER))
  })

/**
 * Zoomed out, a pixel shows the most significant cell in it: core before toxin before structure (and unknown types)
 * before energy.
 */
export const TELLING = Uint8Array.from({ length: KINDS }, (_, kind) =>
  kind === EMPTY ? 0 : kind === ENERGY ? 1 : kind === TOXIN ? 3 : kind === CORE ? 4 : 2,
)

/**
 * Most significant last. Zoomed out, a pixel shows the most significant of its cells, so that organisms never vanish.
 */
const KNOWN = ['energy', '', 'structure', 'toxin', 'core']
/** Between energy and structure: types of other simulations. */
const UNKNOWN = KNOWN.indexOf('')
const MOST_TYPES = 256

/** Significance of a molecule type: by its name and, among unknown ones, by its number. */
export const rankOf = (type: number, name = ''): number => {
  const known = KNOWN.indexOf(name)
  return type === 0 ? 0 : ((known < 0 ? UNKNOWN : known) + 1) * MOST_TYPES + Math.min(type, MOST_TYPES - 1)
}

export const ranksOf = (names: readonly string[]): number[] =>
  names.slice(0, MOST_TYPES).map((name, type) => rankOf(type, name))

/** What a cell can contain. The numbers are part of every tick; their meaning never changes. */
export const EMPTY = 0
/** Food. Grows, spreads, is eaten. */
export const ENERGY = 1
/** The trail an organism leaves. Keeps strangers out and crumbles. */
export const STRUCTURE = 2
/** Left by venomous and starved organisms. Burns whoever steps on it, and fades. */
export const TOXIN = 3
/** Where an organism is; its value is the organism's energy. */
export const CORE = 4

export const MOLECULE_TYPES: readonly string[] = ['empty', 'energy', 'structure', 'toxin', 'core']
export const NO_OWNER = 0
/** A cell without owner has no clan; nobody reads it. */
export const NO_CLAN = 0

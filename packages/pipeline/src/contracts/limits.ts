/** Limits of a message, checked while it is decoded and before memory is allocated for it. */
export type ContractLimits = {
  /** Maximum bytes of a tick. */
  readonly maxTickBytes: number
  /** Maximum number of cells of a tick. */
  readonly maxCells: number
  /** Maximum number of organisms of a tick. */
  readonly maxOrganisms: number
  /** Maximum bytes of a genome. */
  readonly maxGenomeBytes: number
  /** Maximum number of dimensions of a world. */
  readonly maxDimensions: number
}

/** Default limits. Real worlds have megabytes per tick; ten times that is a mistake or an attack. */
export const DEFAULT_LIMITS: ContractLimits = {
  maxTickBytes: 64 * 1024 * 1024,
  maxCells: 16 * 1024 * 1024,
  maxOrganisms: 1024 * 1024,
  maxGenomeBytes: 1024 * 1024,
  maxDimensions: 16,
}

export const MAX_METADATA_BYTES = 16 * 1024 * 1024

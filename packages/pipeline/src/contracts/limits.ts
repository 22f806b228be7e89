/** How much of a message is taken, checked while it is decoded and before memory is set aside for it. */
export type ContractLimits = {
  readonly maxTickBytes: number
  readonly maxCells: number
  readonly maxOrganisms: number
  readonly maxGenomeBytes: number
  readonly maxDimensions: number
}

/** Real worlds have megabytes per tick; ten times that is a mistake or an attack. */
export const DEFAULT_LIMITS: ContractLimits = {
  maxTickBytes: 64 * 1024 * 1024,
  maxCells: 16 * 1024 * 1024,
  maxOrganisms: 1024 * 1024,
  maxGenomeBytes: 1024 * 1024,
  maxDimensions: 16,
}

export const MAX_METADATA_BYTES = 16 * 1024 * 1024

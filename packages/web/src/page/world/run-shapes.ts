export type Range = { readonly tickStart: number; readonly tickEnd: number; readonly ticks: number }

export type RunDetails = {
  readonly runId: string
  readonly metadata: {
    readonly startedAt: number
    readonly seed: string
    readonly samplingInterval: number
    readonly environment: { readonly shape: readonly number[]; readonly topology: 'torus' | 'bounded' }
    readonly moleculeTypes: readonly string[]
  } | null
  readonly indexed: {
    readonly environment: Range | null
    readonly organisms: Range | null
    readonly series: Range | null
  }
}

export type SeriesPoint = {
  readonly tick: number
  readonly alive: number
  readonly births: number
  readonly deaths: number
  readonly meanEnergy: number
  readonly cells: readonly number[]
}

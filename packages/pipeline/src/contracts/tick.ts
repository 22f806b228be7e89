/** Cells are columns, not objects: slot i of each array is one occupied cell; flatIndex ascends. */
export type Cells = {
  readonly flatIndex: Int32Array
  readonly moleculeType: Int32Array
  readonly moleculeValue: Int32Array
  readonly ownerId: Int32Array
}
export type Organism = {
  readonly id: number
  /** null: it was there from the start. */
  readonly parentId: number | null
  readonly birthTick: number
  readonly lineage: number
  readonly energy: number
  readonly position: readonly number[]
  readonly direction: readonly number[]
  readonly genome: Uint8Array
  /** Set in the tick in which it died. */
  readonly isDead: boolean
}
export type Tick = {
  readonly runId: string
  readonly tick: number
  readonly capturedAt: number
  readonly cells: Cells
  readonly organisms: readonly Organism[]
}
export type EnvironmentConfig = { readonly shape: readonly number[]; readonly topology: 'torus' | 'bounded' }
export type SimulationMetadata = {
  readonly runId: string
  readonly startedAt: number
  readonly seed: string
  readonly samplingInterval: number
  readonly environment: EnvironmentConfig
  /** What the simulation wants remembered of its own settings, as JSON. */
  readonly settings: string
  /** Names of molecule types, by number. */
  readonly moleculeTypes: readonly string[]
}

/** Occupied cells as columns: index i of each array is one cell, in ascending order of `flatIndex`. */
export type Cells = {
  /** Position of each cell (`EnvironmentProperties.toCoordinates`). */
  readonly flatIndex: Int32Array
  /** Molecule type of each cell. */
  readonly moleculeType: Int32Array
  /** Value of each cell. */
  readonly moleculeValue: Int32Array
  /** Id of the organism that owns each cell, or 0. */
  readonly ownerId: Int32Array
}
/** State of an organism in one tick. */
export type Organism = {
  /** Id of the organism. */
  readonly id: number
  /** Id of its parent, or null if it existed from the start. */
  readonly parentId: number | null
  /** Tick of its birth. */
  readonly birthTick: number
  /** Number of its lineage. */
  readonly lineage: number
  /** Energy. */
  readonly energy: number
  /** Coordinates. */
  readonly position: readonly number[]
  /** Direction as a vector. */
  readonly direction: readonly number[]
  /** Genome. */
  readonly genome: Uint8Array
  /** Whether it died in this tick. */
  readonly isDead: boolean
}
/** State of the world at one moment. */
export type Tick = {
  /** Id of the run. */
  readonly runId: string
  /** Number of the tick. */
  readonly tick: number
  /** Time at which the tick was captured, in milliseconds since 1970. */
  readonly capturedAt: number
  /** Occupied cells. */
  readonly cells: Cells
  /** Organisms. */
  readonly organisms: readonly Organism[]
}
/** Geometry of a world. */
export type EnvironmentConfig = {
  /** Size of each dimension. */
  readonly shape: readonly number[]
  /** Whether the world wraps around. */
  readonly topology: 'torus' | 'bounded'
}
/** Metadata of a run. */
export type SimulationMetadata = {
  /** Id of the run. */
  readonly runId: string
  /** Start of the run, in milliseconds since 1970. */
  readonly startedAt: number
  /** Seed of the simulation. */
  readonly seed: string
  /** Distance between two ticks. */
  readonly samplingInterval: number
  /** Geometry of the world. */
  readonly environment: EnvironmentConfig
  /** Settings of the simulation, as JSON. */
  readonly settings: string
  /** Names of molecule types by number. */
  readonly moleculeTypes: readonly string[]
}

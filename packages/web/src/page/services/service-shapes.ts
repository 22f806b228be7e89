export type ServiceState = 'STOPPED' | 'STARTING' | 'RUNNING' | 'WAITING' | 'PAUSED' | 'ERROR'

export type ServiceFailure = {
  readonly at: string
  readonly action: string
  readonly name: string
  readonly message: string
}

export type Metrics = { readonly [name: string]: number }

export type Service = {
  readonly name: string
  readonly state: ServiceState
  readonly healthy: boolean
  readonly waitingFor: string | null
  readonly startedAt: string | null
  readonly metrics: Metrics
  readonly bindings: readonly { readonly binding: string; readonly name: string; readonly metrics: Metrics }[]
  /** Of a simulation; null for other services. */
  readonly speed?: { readonly ticksPerSecond: number | null; readonly configured: number | null } | null
  readonly errors: readonly ServiceFailure[]
}

export type Disk = {
  readonly healthy: boolean
  readonly bytes: number
  readonly maxBytes: number | null
  readonly secondsLeft: number | null
  readonly paused: boolean
  readonly reason: string | null
  readonly parts: readonly {
    readonly name: string
    readonly kind: 'storage' | 'index' | 'topics' | 'states'
    readonly bytes: number
  }[]
}

export type PipelineStatus = {
  readonly healthy: boolean
  readonly services: readonly Service[]
  readonly disk: Disk
}

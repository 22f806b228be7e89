import type { BindingStatus } from '../resources/binding-meter.ts'
import type { ServiceError } from './health.ts'

/** State of a service. */
export type ServiceState = 'STOPPED' | 'STARTING' | 'RUNNING' | 'WAITING' | 'PAUSED' | 'ERROR'

/** Speed of a simulation. */
export type ServiceSpeed = {
  /** Maximum ticks per second; null: unlimited. */
  readonly ticksPerSecond: number | null
  /** Maximum ticks per second in the configuration; null: unlimited. */
  readonly configured: number | null
}

/** Ticks that were made one by one. */
export type StepReport = {
  /** Last tick before. */
  readonly from: number
  /** Last tick now. */
  readonly to: number
  /** Number of ticks made: fewer than requested only if the run ended, or was stopped or resumed meanwhile. */
  readonly ticks: number
}

/** Status of a service. */
export type ServiceStatus = {
  /** Name of the service. */
  readonly name: string
  /** State of the service. */
  readonly state: ServiceState
  /**
   * Whether the service works. False in ERROR, while an operation fails that has not succeeded since, and if the
   * service reports it.
   */
  readonly healthy: boolean
  /** What the service waits for, such as 'the index database', or null. It continues by itself. */
  readonly waitingFor: string | null
  /** Time of the last start, or null. */
  readonly startedAt: Date | null
  /** Figures by name, from memory. */
  readonly metrics: Readonly<Record<string, number>>
  /** Traffic of each binding to a topic. */
  readonly bindings: readonly BindingStatus[]
  /** Speed of a simulation, or null: other services work as fast as data arrives. */
  readonly speed: ServiceSpeed | null
  /** Newest failures. A success removes those of its operation; `clearErrors()` removes all. */
  readonly errors: readonly ServiceError[]
}

/** Event of a service: a change of state, a failure, or a success after a failure. */
export type ServiceEvent =
  | {
      /** Kind of the event. */
      readonly type: 'state'
      /** Name of the service. */
      readonly service: string
      readonly state: ServiceState
      readonly before: ServiceState
    }
  | { readonly type: 'error'; readonly service: string; readonly action: string; readonly error: Error }
  | { readonly type: 'recovered'; readonly service: string; readonly action: string }

/** Called with every event of a service. */
export type ServiceListener = (event: ServiceEvent) => void

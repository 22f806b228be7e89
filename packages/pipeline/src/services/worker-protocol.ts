/** Messages between a service in a thread and its stand-in outside. */
import type { MessagePort } from 'node:worker_threads'
import type { CheckedResources, CheckedService } from '../config/config.ts'
import type { BindingStatus } from '../resources/binding-meter.ts'
import { WorkerReportedError } from './errors.ts'
import type { ServiceSpeed, StepReport } from './service.ts'

export type WorkerSetup = {
  readonly service: CheckedService
  readonly resources: CheckedResources
  readonly folder: string
  /** The sending ends of queues, by the queues' names. */
  readonly outlets: { readonly [queue: string]: MessagePort }
}

export type ToWorker =
  | { readonly type: 'stop' | 'pause' | 'resume' | 'clearErrors' }
  | ({ readonly type: 'ask'; readonly id: number } & Asked)

/** A request that is answered. */
export type Asked =
  | { readonly what: 'speed'; readonly ticksPerSecond: number | null }
  | { readonly what: 'step'; readonly ticks: number }

export type FromWorker =
  | { readonly type: 'started' }
  /** It could not start; the thread ends. */
  | { readonly type: 'failed'; readonly error: SentError }
  | {
      readonly type: 'status'
      readonly metrics: Readonly<Record<string, number>>
      readonly healthy: boolean
      readonly waitingFor: string | null
      readonly bindings: readonly BindingStatus[]
      readonly speed: ServiceSpeed | null
      readonly errors: readonly SentFailure[]
    }
  | { readonly type: 'answer'; readonly id: number; readonly answer: StepReport | null }
  | { readonly type: 'refusal'; readonly id: number; readonly error: SentError }
  /** Something failed, and the service continues. */
  | { readonly type: 'report'; readonly action: string; readonly error: SentError }
  /** run() has ended; with an error, in ERROR. */
  | { readonly type: 'ended'; readonly error: SentError | null }
  | { readonly type: 'log'; readonly level: 'warn' | 'error'; readonly fields: object; readonly message: string }

/** A current failure in the thread. */
type SentFailure = { readonly at: Date; readonly action: string; readonly error: SentError }

export type SentError = {
  readonly kind: string
  readonly code: string
  readonly message: string
  readonly stack: string
}

export function toSent(error: Error): SentError {
  const code = Reflect.get(error, 'code')
  const { name: kind, message, stack = '' } = error
  return { kind, code: typeof code === 'string' ? code : 'TIDEMARK_WORKER', message, stack }
}

export const fromSent = (sent: SentError): WorkerReportedError => new WorkerReportedError(sent)

import { CodedError } from 'tidemark'
import { didYouMean } from '../config/did-you-mean.ts'

/** The pipeline has no service with this name. */
export class UnknownServiceError extends CodedError {
  /** The name. */
  readonly service: string

  constructor(service: string, known: readonly string[]) {
    const hint = didYouMean(service, known)
    super(
      'TIDEMARK_UNKNOWN_SERVICE',
      `There is no service '${service}'.${hint} There is: ${known.join(', ') || 'none'}`,
    )
    this.service = service
  }
}

/** The service has no speed: only a simulation has. */
export class NoSpeedError extends CodedError {
  /** Name of the service. */
  readonly service: string

  constructor(service: string) {
    super(
      'TIDEMARK_NO_SPEED',
      `Service '${service}' has no speed: it works as fast as data arrives. Name a simulation, or pause the service`,
    )
    this.service = service
  }
}

/** The service does not run. */
export class ServiceNotRunningError extends CodedError {
  /** Name of the service. */
  readonly service: string

  constructor(service: string, state: string) {
    super('TIDEMARK_SERVICE_NOT_RUNNING', `Service '${service}' does not run (${state}). Start it first`)
    this.service = service
  }
}

/** A service did not start or stop in time. It is abandoned; the other services continue. */
export class ServiceTimeoutError extends CodedError {
  /** Name of the service. */
  readonly service: string
  /** What took too long. */
  readonly action: 'start' | 'stop'
  /** Timeout in milliseconds. */
  readonly timeoutMs: number

  constructor(service: string, action: 'start' | 'stop', timeoutMs: number) {
    const advice = action === 'start' ? 'Check whether its resources answer' : 'End the process to stop it'
    super('TIDEMARK_SERVICE_TIMEOUT', `Service '${service}' did not ${action} within ${timeoutMs} ms. ${advice}`)
    this.service = service
    this.action = action
    this.timeoutMs = timeoutMs
  }
}

/** The thread of a service ended unexpectedly, or could not start. */
export class WorkerDiedError extends CodedError {
  /** Name of the service. */
  readonly service: string

  constructor(service: string, problem: string, cause?: unknown) {
    super('TIDEMARK_WORKER_DIED', `The thread of service '${service}' ${problem}. Start the service again`, cause)
    this.service = service
  }
}

/** The thread of a service no longer responds. */
export class WorkerSilentError extends CodedError {
  /** Name of the service. */
  readonly service: string

  constructor(service: string, silentMs: number) {
    super(
      'TIDEMARK_WORKER_SILENT',
      `The thread of service '${service}' has not responded for ${Math.round(silentMs / 1_000)} s. ` +
        'Restart the service; if it happens again, look for code in it that blocks the event loop',
    )
    this.service = service
  }
}

/** An error that a service reported from its thread. */
export class WorkerReportedError extends CodedError {
  /** Its name does not follow from its code. */
  override readonly name = 'WorkerReportedError'
  /** Class name of the error in the thread. */
  readonly kind: string

  constructor({ kind, code, message, stack }: { kind: string; code: string; message: string; stack: string }) {
    super(code, message)
    this.kind = kind
    this.stack = stack
  }
}

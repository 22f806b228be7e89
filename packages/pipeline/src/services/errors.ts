import { TidemarkError } from 'tidemark'
import { didYouMean } from '../config/did-you-mean.ts'

/** A name that no service of this pipeline has. */
export class UnknownServiceError extends TidemarkError {
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

/** A start or a stop that took longer than it may. Whatever hangs is left behind; the other services go on. */
export class ServiceTimeoutError extends TidemarkError {
  readonly service: string
  readonly action: 'start' | 'stop'
  readonly timeoutMs: number

  constructor(service: string, action: 'start' | 'stop', timeoutMs: number) {
    const advice = action === 'start' ? 'Check whether its resources answer' : 'End the process to stop it'
    super('TIDEMARK_SERVICE_TIMEOUT', `Service '${service}' did not ${action} within ${timeoutMs} ms. ${advice}`)
    this.service = service
    this.action = action
    this.timeoutMs = timeoutMs
  }
}

/** A thread that ended without being asked, or could not begin. */
export class WorkerDiedError extends TidemarkError {
  readonly service: string

  constructor(service: string, problem: string, cause?: unknown) {
    super('TIDEMARK_WORKER_DIED', `The thread of service '${service}' ${problem}. Start the service again`, cause)
    this.service = service
  }
}

/** A thread that is there and no longer responds: something in it never ends, or takes very long. */
export class WorkerSilentError extends TidemarkError {
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

/** What a service in a thread reported, made whole again on this side. */
export class WorkerReportedError extends TidemarkError {
  /** The name of its class in the thread. */
  readonly kind: string

  constructor({ kind, code, message, stack }: { kind: string; code: string; message: string; stack: string }) {
    super(code, message)
    this.kind = kind
    this.stack = stack
  }
}

import type { NearestTicks } from '@tidemark/pipeline'
import { CodedError } from 'tidemark'

export class BadRequestError extends CodedError {
  constructor(message: string) {
    super('TIDEMARK_BAD_REQUEST', message)
  }
}

export class UnauthorizedError extends CodedError {
  constructor() {
    super('TIDEMARK_UNAUTHORIZED', 'A token is required: send it as "Authorization: Bearer <token>"')
  }
}

export class ForbiddenError extends CodedError {
  constructor(name: string, role: string, topic?: string) {
    const where = topic === undefined ? ' for all topics' : ` for topic '${topic.slice(0, 128)}'`
    super(
      'TIDEMARK_FORBIDDEN',
      `'${name}' may not do this: the role '${role}' is required${where}. Ask an administrator`,
    )
  }
}

/** A server without tokens trusts everybody on its machine, but not the clients of a proxy. */
export class ForwardedError extends CodedError {
  constructor(header: string) {
    super(
      'TIDEMARK_FORWARDED',
      `The request came through a proxy (header '${header}'), and this server has no tokens. Start it with tokens to ` +
        'serve others than this machine',
    )
  }
}

export class RateLimitError extends CodedError {
  readonly retrySeconds: number

  constructor(what: string, retrySeconds: number) {
    super('TIDEMARK_RATE_LIMIT', `${what}. Wait ${retrySeconds} s, then send fewer`)
    this.retrySeconds = retrySeconds
  }
}

export class HostNotAllowedError extends CodedError {
  constructor(host: string | undefined) {
    super(
      'TIDEMARK_HOST_NOT_ALLOWED',
      host === undefined
        ? 'The request has no Host header'
        : 'The host of the request is not allowed. Add it to allowedHosts if it names this server',
    )
  }
}

export class CrossSiteError extends CodedError {
  constructor(from: string) {
    super(
      'TIDEMARK_CROSS_SITE',
      `Cross-site request from '${from.slice(0, 200)}' refused: pages of other sites may not change anything here`,
    )
  }
}

export class UnsupportedMediaTypeError extends CodedError {
  constructor(message: string) {
    super('TIDEMARK_UNSUPPORTED_MEDIA_TYPE', message)
  }
}

export class NotAcceptableError extends CodedError {
  constructor(offered: readonly string[]) {
    super('TIDEMARK_NOT_ACCEPTABLE', `The Accept header allows none of the available types: ${offered.join(', ')}`)
  }
}

/** The request's JSON is nested too deeply. */
export class NestingError extends CodedError {
  constructor(most: number) {
    super(
      'TIDEMARK_NESTING',
      `The body is nested deeper than ${most} levels. Send flatter data, or raise limits.nesting`,
    )
  }
}

export class BodyTimeoutError extends CodedError {
  constructor(ms: number) {
    super('TIDEMARK_BODY_TIMEOUT', `The request body did not arrive within ${ms} ms. Send it again`)
  }
}

export class BodyTooLargeError extends CodedError {
  constructor(most: number) {
    super('TIDEMARK_BODY_TOO_LARGE', `The body exceeds the limit of ${most} bytes. Send it in parts`)
  }
}

/** The pipeline waits for disk space, and accepts nothing until there is some. */
export class IngestPausedError extends CodedError {
  constructor(ticks: number, lastTick: number | null, cause: Error) {
    const taken =
      lastTick === null ? 'None of these ticks were taken' : `${ticks} ticks were taken, up to tick ${lastTick}`
    super('TIDEMARK_INGEST_PAUSED', `${taken}. ${cause.message}`, cause)
  }
}

/** The server was started without the part that this route shows. */
export class NotServedError extends CodedError {
  constructor(what: string, option: string) {
    super(
      'TIDEMARK_NOT_SERVED',
      `This server was started without ${what} (option '${option}'). Use another server, or ask its operator`,
    )
  }
}

export class NotFoundError extends CodedError {
  constructor(message: string) {
    super('TIDEMARK_NOT_FOUND', message)
  }
}

/** The tick is in a gap, or not indexed yet. */
export class TickNotFoundError extends NotFoundError {
  readonly nearest: NearestTicks

  constructor(tick: number, nearest: NearestTicks) {
    const { before, after } = nearest
    const known = [before, after].filter(each => each !== null)
    const advice =
      known.length === 0 ? 'No tick is' : `The nearest ${known.length === 1 ? 'is' : 'are'} ${known.join(' and ')}`
    super(`Tick ${tick} is not indexed. ${advice}${known.length === 0 ? ' indexed yet' : ''}`)
    this.nearest = nearest
  }
}

export class TileTooLargeError extends CodedError {
  constructor(pixels: number, most: number) {
    super(
      'TIDEMARK_TILE_TOO_LARGE',
      `The tile has ${pixels} pixels; the limit is ${most}. Send a smaller size or region, or raise limits.tilePixels`,
    )
  }
}

export class TooManyFramesError extends CodedError {
  constructor(frames: number, most: number) {
    super(
      'TIDEMARK_TOO_MANY_FRAMES',
      `The range has ${frames} frames; the limit is ${most}. Leave out 'to' and continue at the end, send a larger 'every', ` +
        'or raise limits.frames',
    )
  }
}

/** Too many at the same time. */
export class TooManyError extends CodedError {
  constructor(what: string, most: number, limit: string) {
    super('TIDEMARK_TOO_MANY', `${most} ${what} are open, which is the limit. Close one, or raise limits.${limit}`)
  }
}

/** Readers have not received what was sent before. */
export class UnsentAnswersError extends CodedError {
  constructor(most: number) {
    super(
      'TIDEMARK_UNSENT_ANSWERS',
      `Responses of more than ${most} bytes are waiting for slow readers. Try again later, or raise limits.unsentBytes`,
    )
  }
}

export class StepTimeoutError extends CodedError {
  constructor(service: string, ms: number) {
    super(
      'TIDEMARK_STEP_TIMEOUT',
      `The ticks of service '${service}' were not made within ${ms} ms. They are still being made: look at its tick, and at what holds it back`,
    )
  }
}

export class ServiceStartError extends CodedError {
  constructor(service: string, cause: Error) {
    super('TIDEMARK_SERVICE_START', `Service '${service}' could not start: ${cause.message}`, cause)
  }
}

/** Another program listens on the port. */
export class AddressInUseError extends CodedError {
  /** The port. */
  readonly port: number

  constructor(host: string, port: number, cause: unknown) {
    super(
      'TIDEMARK_ADDRESS_IN_USE',
      `Port ${port} of ${host} is in use. Stop what uses it, or choose another port (0 picks a free one)`,
      cause,
    )
    this.port = port
  }
}

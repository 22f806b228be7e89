import { CodedError } from 'tidemark'

/** The command line is wrong. */
export class UsageError extends CodedError {
  constructor(message: string) {
    super('TIDEMARK_USAGE', message)
  }
}

/** An irreversible action was not confirmed. */
export class UnconfirmedError extends CodedError {
  constructor(what: string) {
    super(
      'TIDEMARK_UNCONFIRMED',
      `${what} can't be undone and was not confirmed. Nothing was changed; use --yes to confirm`,
    )
  }
}

/** The address has no namespace, or none that this command may use as it is. */
export class NamespaceError extends CodedError {
  constructor(message: string) {
    super('TIDEMARK_NAMESPACE', message)
  }
}

/** The file that `config init` would write already exists. */
export class ConfigExistsError extends CodedError {
  constructor(file: string) {
    super('TIDEMARK_CONFIG_EXISTS', `${file} already exists and was not changed. Give another name with --config`)
  }
}

export class NotFoundError extends CodedError {
  constructor(message: string) {
    super('TIDEMARK_NOT_FOUND', message)
  }
}

/** The server refused the request. */
export class RefusedError extends CodedError {
  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_REFUSED', message, cause)
  }
}

/** An unexpected error: a bug. It is shown with its stack and, like everything, without passwords. */
export class UnexpectedError extends CodedError {
  constructor(cause: unknown) {
    const what = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    super('TIDEMARK_UNEXPECTED', `Unexpected error; please report it. ${what}`, cause)
  }
}

import { CodedError } from 'tidemark'

/** The command line is wrong. */
export class UsageError extends CodedError {
  constructor(message: string) {
    super('TIDEMARK_USAGE', message)
  }
}

/** What can't be undone was not confirmed. */
export class UnconfirmedError extends CodedError {
  constructor(what: string) {
    super(
      'TIDEMARK_UNCONFIRMED',
      `${what} can't be undone and was not confirmed. Nothing was changed; use --yes to confirm`,
    )
  }
}

/** There is no namespace at the address, or not one that this command may use as it is. */
export class NamespaceError extends CodedError {
  constructor(message: string) {
    super('TIDEMARK_NAMESPACE', message)
  }
}

/** What `config init` would write is there already. */
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

/** A server that was asked did not do it. */
export class RefusedError extends CodedError {
  constructor(message: string, cause?: unknown) {
    super('TIDEMARK_REFUSED', message, cause)
  }
}

/** What nobody thought of: a defect. Where it came from is told with it, and like all that is shown without passwords. */
export class UnexpectedError extends CodedError {
  constructor(cause: unknown) {
    const what = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)
    super('TIDEMARK_UNEXPECTED', `Unexpected error; please report it. ${what}`, cause)
  }
}

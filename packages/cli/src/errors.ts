import { TidemarkError } from 'tidemark'

/** The command line is wrong. */
export class UsageError extends TidemarkError {
  constructor(message: string) {
    super('TIDEMARK_USAGE', message)
  }
}

/** What can't be undone was not confirmed. */
export class UnconfirmedError extends TidemarkError {
  constructor(what: string) {
    super(
      'TIDEMARK_UNCONFIRMED',
      `${what} can't be undone, and was not confirmed. Nothing was changed; give --yes to do it`,
    )
  }
}

/** There is no namespace at the address, or not one that this command may use as it is. */
export class NamespaceError extends TidemarkError {
  constructor(message: string) {
    super('TIDEMARK_NAMESPACE', message)
  }
}

export class NotFoundError extends TidemarkError {
  constructor(message: string) {
    super('TIDEMARK_NOT_FOUND', message)
  }
}

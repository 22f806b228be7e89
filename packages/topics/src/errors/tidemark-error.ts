/**
 * Base class of all errors. It has a stable `code`, the relevant fields, and a message that says what happened, to
 * what, and what to do.
 */
export class TidemarkError extends Error {
  /** Stable code of the error, for programs. */
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
  }
}

/**
 * Every error Tidemark throws: a class with a stable `code`, the fields that matter, and a message that says what
 * happened, to what, and what to do next.
 */
export class TidemarkError extends Error {
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
  }
}

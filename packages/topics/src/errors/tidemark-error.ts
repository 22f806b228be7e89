import type { TidemarkErrorCode } from './codes.ts'

/**
 * Base class of the errors of all packages of Tidemark. It has a stable `code`, the relevant fields, and a message that
 * says what happened, to what, and what to do.
 */
export class CodedError extends Error {
  /** Stable code of the error, for programs. */
  readonly code: string

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = nameOf(code) ?? new.target.name
    this.code = code
  }
}

/**
 * Base class of the errors of `tidemark`. Each subclass has one code, so that a `switch` over `error.code` can be checked
 * for completeness by the compiler.
 */
export class TidemarkError extends CodedError {
  /** Stable code of the error, for programs. */
  declare readonly code: TidemarkErrorCode

  constructor(code: TidemarkErrorCode, message: string, cause?: unknown) {
    super(code, message, cause)
  }
}

/** `TIDEMARK_TOPIC_NOT_FOUND` is a `TopicNotFoundError`, even if a bundler has shortened the class names. */
function nameOf(code: string): string | undefined {
  const words = code.startsWith('TIDEMARK_') ? code.toLowerCase().split('_').slice(1) : []
  if (words.length === 0) return undefined
  return `${words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Error`
}

/** A stored error. */
export type FailureRecord = {
  /** Name of the error. */
  readonly name: string
  /** Message of the error. */
  readonly message: string
}

/** A failed attempt of a message. */
export type FailedAttempt = FailureRecord & {
  /** Number of the attempt. */
  readonly attempt: number
  /** Time of the failure, in milliseconds since 1970. */
  readonly at: number
}

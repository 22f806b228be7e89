import { CodedError } from 'tidemark'

/** The value is not a run id. */
export class InvalidRunIdError extends CodedError {
  /** The value. */
  readonly value: unknown

  constructor(value: unknown) {
    const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : typeof value
    super(
      'TIDEMARK_INVALID_RUN_ID',
      `${shown} is not a run id; one looks like 20251014-14302550-550e8400-e29b-41d4-a716-446655440000 ` +
        '(UTC date, time to the hundredth of a second, UUID in lower case)',
    )
    this.value = value
  }
}

/** The bytes are not the expected message, or the message can't contain the value. */
export class ContractError extends CodedError {
  /** Name of the message in the .proto files. */
  readonly messageType: string

  constructor(messageType: string, problem: string, cause?: unknown) {
    super('TIDEMARK_CONTRACT', `Not a valid ${messageType}: ${problem}`, cause)
    this.messageType = messageType
  }
}

/** The message is valid but exceeds a limit. */
export class LimitError extends CodedError {
  /** Name of the limit. */
  readonly limit: string
  /** The value. */
  readonly value: number
  /** Maximum. */
  readonly most: number

  constructor(what: string, limit: string, value: number, most: number) {
    super('TIDEMARK_LIMIT', `${what}: ${value} is more than ${limit} allows (${most}). Raise ${limit} if this is meant`)
    this.limit = limit
    this.value = value
    this.most = most
  }
}

import { TidemarkError } from 'tidemark'

/** A text that has to be a run id and is none. */
export class InvalidRunIdError extends TidemarkError {
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

/** Bytes that are not the message they should be, or a value that such a message can't hold. */
export class ContractError extends TidemarkError {
  /** The message's name in the .proto files. */
  readonly messageType: string

  constructor(messageType: string, problem: string, cause?: unknown) {
    super('TIDEMARK_CONTRACT', `Not a valid ${messageType}: ${problem}`, cause)
    this.messageType = messageType
  }
}

/** Well-formed, but more of it than this program takes. */
export class LimitError extends TidemarkError {
  readonly limit: string
  readonly value: number
  readonly most: number

  constructor(what: string, limit: string, value: number, most: number) {
    super('TIDEMARK_LIMIT', `${what}: ${value} is more than ${limit} allows (${most}). Raise ${limit} if this is meant`)
    this.limit = limit
    this.value = value
    this.most = most
  }
}

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

import { CodedError } from 'tidemark'

/** Another instance holds the batch, or it was settled otherwise. The call changed nothing. */
export class StaleClaimError extends CodedError {
  /** Storage key of the batch. */
  readonly key: string
  /** Number of the claim. */
  readonly version: number

  constructor(key: string, version: number, found: string) {
    super(
      'TIDEMARK_STALE_CLAIM',
      `Batch '${key}' is no longer held under claim ${version} (it is ${found}). Nothing was changed; ` +
        `discard its ticks, and consider a longer claimTimeout or extend()`,
    )
    this.key = key
    this.version = version
  }
}

/** The given batch or ledger contradicts what is stored. */
export class LedgerConflictError extends CodedError {
  constructor(message: string) {
    super('TIDEMARK_LEDGER_CONFLICT', message)
  }
}

import { TidemarkError } from 'tidemark'

/** Somebody else holds the batch now, or it was settled otherwise: the call changed nothing. */
export class StaleClaimError extends TidemarkError {
  readonly key: string
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

/** What is said of a batch or a ledger contradicts what is stored. */
export class LedgerConflictError extends TidemarkError {
  constructor(message: string) {
    super('TIDEMARK_LEDGER_CONFLICT', message)
  }
}

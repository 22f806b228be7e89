import { ConfigError } from 'tidemark'
import type { TickRange } from '../databases/ledger-store.ts'
import { storableText, wholeNumber } from '../options.ts'
import type { Gap } from './gap-detection.ts'

/** A batch file. */
export type Batch = TickRange & {
  /** Storage key. */
  readonly key: string
}

/** Right to process a batch until another instance takes it over. */
export type BatchClaim = Batch & {
  /** Number of the claim, which is the fencing token. */
  readonly version: number
  /** Name of the instance. */
  readonly claimer: string
  /** Whether it was taken over from an instance that did not settle it in time. */
  readonly isTakenOver: boolean
}

/** Result of a claim. */
export type BatchClaimResult =
  | {
      /** Whether the batch was claimed, and why not. */
      readonly outcome: 'claimed'
      readonly claim: BatchClaim
    }
  /** It waits for the ticks before it. */
  | { readonly outcome: 'gap_pending'; readonly gap: Gap }
  /** Another instance claimed it. */
  | { readonly outcome: 'held' | 'completed' | 'failed' }

const LONGEST_KEY = 2_000

export function checkBatch({ key, tickStart, tickEnd }: Batch): void {
  storableText('key', key, LONGEST_KEY)
  checkRange({ tickStart, tickEnd })
}

export function checkRange({ tickStart, tickEnd }: TickRange): void {
  wholeNumber('tickStart', tickStart, { min: 0 })
  wholeNumber('tickEnd', tickEnd, { min: 0 })
  if (tickEnd < tickStart) throw new ConfigError('tickEnd', tickEnd, `at least tickStart, ${tickStart}`)
}

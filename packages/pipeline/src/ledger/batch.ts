import { ConfigError } from 'tidemark'
import type { TickRange } from '../databases/ledger-store.ts'
import { storableText, wholeNumber } from '../options.ts'
import type { Gap } from './gap-detection.ts'

/** A batch file: its storage key and the ticks in it. */
export type Batch = TickRange & { readonly key: string }

/** The right to process a batch, until somebody takes it over. */
export type Claim = Batch & {
  readonly version: number
  readonly claimer: string
  /** Another one held it and did not settle it in time. */
  readonly isTakenOver: boolean
}

export type ClaimResult =
  | { readonly outcome: 'claimed'; readonly claim: Claim }
  /** It waits for the ticks before it. */
  | { readonly outcome: 'gap_pending'; readonly gap: Gap }
  /** Another one has it, or had it. */
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

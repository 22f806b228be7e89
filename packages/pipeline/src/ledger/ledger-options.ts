import type { Duration } from 'tidemark'
import type { LedgerStart } from '../databases/ledger-store.ts'
import { parseDuration } from '../duration.ts'
import { oneOf, refuseUnknown, storableText, wholeNumber } from '../options.ts'

export type LedgerOptions = {
  /** Whose ledger: every indexer processes every batch, so each has its own. Its competing instances share one. */
  readonly indexer: string
  /** From the run's metadata: how far apart two ticks are. */
  readonly samplingInterval: number
  /**
   * The run begins here: what follows waits for it. Default: as the ledger was begun, and null in a new
   * one: whatever arrives first is the start, and has no gap before it.
   */
  readonly firstTick?: number | null
  /** After this a claim that was not settled may be taken over; 0: never. Default '5m'. */
  readonly claimTimeout?: Duration
  /** After this a gap is reported as permanent. Default '1m'. */
  readonly gapWarningTimeout?: Duration
  /** What follows a permanent gap goes on waiting (default), or is released. A gap stays in the list either way. */
  readonly afterPermanentGap?: 'wait' | 'release'
}

export type LedgerSettings = LedgerStart & {
  readonly indexer: string
  readonly claimTimeoutMs: number
  readonly gapWarningMs: number
  readonly releasesPermanent: boolean
}

const KNOWN = ['indexer', 'samplingInterval', 'firstTick', 'claimTimeout', 'gapWarningTimeout', 'afterPermanentGap']
const LONGEST_INDEXER = 200

export function ledgerSettings(options: LedgerOptions): LedgerSettings {
  refuseUnknown(options, KNOWN)
  const { firstTick = null, claimTimeout = '5m', gapWarningTimeout = '1m', afterPermanentGap = 'wait' } = options
  return {
    indexer: storableText('indexer', options.indexer, LONGEST_INDEXER),
    samplingInterval: wholeNumber('samplingInterval', options.samplingInterval, { min: 1 }),
    firstTick: firstTick === null ? null : wholeNumber('firstTick', firstTick, { min: 0 }),
    claimTimeoutMs: parseDuration('claimTimeout', claimTimeout),
    gapWarningMs: parseDuration('gapWarningTimeout', gapWarningTimeout),
    releasesPermanent: oneOf('afterPermanentGap', afterPermanentGap, ['wait', 'release']) === 'release',
  }
}

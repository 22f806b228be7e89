import type { Duration } from 'tidemark'
import type { LedgerStart } from '../databases/ledger-store.ts'
import { parseDuration } from '../duration.ts'
import { oneOf, refuseUnknown, storableText, wholeNumber } from '../options.ts'

/** Options of a ledger. */
export type LedgerOptions = {
  /** Name of the indexer. Its instances share one ledger. */
  readonly indexer: string
  /** Distance between two ticks, from the metadata of the run. */
  readonly samplingInterval: number
  /**
   * First tick of the run: batches after a gap there wait for it. Default: as stored in the ledger; in a new ledger
   * null, which means that the first batch to arrive is the start.
   */
  readonly firstTick?: number | null
  /** Time after which an unsettled claim may be taken over; 0: never (default '5m'). */
  readonly claimTimeout?: Duration
  /** Time after which a gap is reported as permanent (default '1m'). */
  readonly gapWarningTimeout?: Duration
  /** Whether batches after a permanent gap keep waiting (default) or are released. The gap stays in the list. */
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

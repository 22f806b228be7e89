import type { BatchLedger } from '../../ledger/batch-ledger.ts'
import type { LedgerSettings } from '../../ledger/ledger-options.ts'

const SHORTEST_LOOK_MS = 20
const LONGEST_LOOK_MS = 5_000
/** More are not counted: the page shows "1000 or more". */
const COUNTED_GAPS = 1_000

/** Checks periodically whether ticks are missing, and for how long. The ledger emits its findings as events. */
export class GapWatch {
  readonly #ledger: BatchLedger
  readonly #everyMs: number
  readonly #releasesPermanent: boolean
  #nextAt = 0
  #open = 0

  constructor(ledger: BatchLedger, { gapWarningMs, releasesPermanent }: LedgerSettings) {
    this.#ledger = ledger
    this.#releasesPermanent = releasesPermanent
    this.#everyMs = Math.min(LONGEST_LOOK_MS, Math.max(SHORTEST_LOOK_MS, gapWarningMs / 4))
  }

  /** Gaps at the last check, at most 1000. */
  get open(): number {
    return this.#open
  }

  get msUntilDue(): number {
    return Math.max(0, this.#nextAt - performance.now())
  }

  async look(): Promise<void> {
    try {
      await this.#look()
    } finally {
      this.#nextAt = performance.now() + this.#everyMs
    }
  }

  async #look(): Promise<void> {
    const gaps = await this.#ledger.gaps({ limit: COUNTED_GAPS })
    this.#open = gaps.length
    // A permanent gap costs one read each time, and no transaction.
    const isOpen = gaps.some(gap => !gap.isPermanent || (this.#releasesPermanent && !gap.isSkipped))
    if (isOpen) await this.#ledger.reportPermanentGaps()
  }
}

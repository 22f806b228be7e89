import type { EncodedTick } from '../../contracts/tick-codec.ts'
import type { IdempotencyTracker } from '../../trackers/idempotency-tracker.ts'
import type { StoredTicks } from './stored-ticks.ts'

/** Ticks being stored by services that share a queue. */
const atWork = new WeakMap<object, Set<string>>()
const SCOPE = 'persistence'

/** Separate for reads and writes: success of one says nothing about the other. */
type ReportTracker = (step: 'look up' | 'mark', error: unknown) => void

export type Sifted = {
  /** In order; each is a batch whose range contains no tick that is stored elsewhere. */
  readonly batches: readonly (readonly EncodedTick[])[]
  readonly duplicates: number
}

/**
 * Drops duplicate ticks. Checked in order of cost: this batch itself, batches being stored concurrently, the tracker
 * (recently stored ticks), the storage (everything, also from before a restart).
 *
 * A tick is marked only once it is stored: one that was marked before and lost in a crash would never be accepted
 * again.
 */
export class DuplicateFilter {
  readonly #atWork: Set<string>
  readonly #tracker: IdempotencyTracker
  readonly #stored: StoredTicks
  readonly #report: ReportTracker

  /** `report`: the tracker failed or, with null, works. It only saves work, so a failure is no reason to stop. */
  constructor(queue: object, tracker: IdempotencyTracker, stored: StoredTicks, report: ReportTracker) {
    this.#atWork = atWork.get(queue) ?? new Set()
    atWork.set(queue, this.#atWork)
    this.#tracker = tracker
    this.#stored = stored
    this.#report = report
  }

  /** Ticks that nobody else is storing; they belong to this caller until `release`. */
  claim(ticks: readonly EncodedTick[]): EncodedTick[] {
    return ticks.filter(tick => {
      const key = keyOf(tick)
      if (this.#atWork.has(key)) return false
      this.#atWork.add(key)
      return true
    })
  }

  /** Claimed ticks of one run that are not stored yet. */
  async sift(claimed: readonly EncodedTick[]): Promise<Sifted> {
    const ordered = claimed.toSorted((a, b) => a.tick - b.tick)
    const tracked = await this.#areTracked(ordered)
    const untracked = ordered.filter((_, slot) => tracked[slot] === false)
    const first = untracked[0]
    const last = untracked.at(-1)
    if (first === undefined || last === undefined) return { batches: [], duplicates: ordered.length }
    const stored = await this.#stored.between(first.runId, first.tick, last.tick)
    this.#stored.note(first.runId, first.tick, last.tick)
    const batches = splitAt(ordered, (tick, slot) => tracked[slot] === true || stored.has(tick.tick))
    return { batches, duplicates: ordered.length - batches.flat().length }
  }

  async mark(ticks: readonly EncodedTick[]): Promise<void> {
    const marked = await Promise.allSettled(ticks.map(tick => this.#tracker.markProcessed(SCOPE, keyOf(tick))))
    const failed = marked.find(result => result.status === 'rejected')
    this.#report('mark', failed?.reason ?? null)
  }

  release(claimed: readonly EncodedTick[]): void {
    for (const tick of claimed) this.#atWork.delete(keyOf(tick))
  }

  async #areTracked(ticks: readonly EncodedTick[]): Promise<boolean[]> {
    const asked = await Promise.allSettled(ticks.map(tick => this.#tracker.isProcessed(SCOPE, keyOf(tick))))
    const failed = asked.find(result => result.status === 'rejected')
    this.#report('look up', failed?.reason ?? null)
    return asked.map(result => result.status === 'fulfilled' && result.value)
  }
}

/** The pieces between dropped ticks: a batch across one would overlap the file that contains it. */
function splitAt(
  ticks: readonly EncodedTick[],
  isLeftOut: (tick: EncodedTick, slot: number) => boolean,
): EncodedTick[][] {
  const pieces: EncodedTick[][] = []
  let piece: EncodedTick[] = []
  for (const [slot, tick] of ticks.entries()) {
    if (!isLeftOut(tick, slot)) piece.push(tick)
    else if (piece.length > 0) {
      pieces.push(piece)
      piece = []
    }
  }
  if (piece.length > 0) pieces.push(piece)
  return pieces
}

const keyOf = ({ runId, tick }: EncodedTick): string => `${runId}/${tick}`

import type { Logger } from 'tidemark'
import type { TickRange } from '../../databases/ledger-store.ts'
import type { BatchRef, Storage } from '../../storage/storage.ts'
import { Service, type ServiceContext } from '../service.ts'
import { pauseFor } from '../until-aborted.ts'
import type { KeptBy } from './keep.ts'
import { type FollowingIndex, type Processed, processedByAll } from './processed-by-all.ts'

export type KeptStorage = {
  readonly storage: Storage
  readonly indexes: readonly FollowingIndex[]
  /** Those of the configuration; without any, the newest run in the storage. */
  readonly runIds: readonly string[]
}

export type RetentionOptions = {
  readonly keep: KeptBy
  readonly storages: readonly KeptStorage[]
  /** The share of the disk budget that is used, with reserves; 0 without a budget. */
  fullness(): number
  readonly logger: Logger
}

/** With `fits`, old ticks go from this share of the budget on: the source pauses only at 98 %. */
const FULL = 0.85
/** The share of a run's ticks that goes at once. The disk is measured again before more go. */
const PART = 0.05
/** Fewer are never removed to make room: then it is not this run that fills the disk, and the source pauses. */
const FEWEST_KEPT = 100
const LONGEST_WAIT_MS = 5_000
const SHORTEST_WAIT_MS = 200
/** Batches per check of a run: more are removed by the next. */
const MOST_AT_ONCE = 2_000

type Found = BatchRef & { readonly isProcessed: boolean }

/**
 * Removes batches that are older than `keep`, or that make room in the disk budget, and that every indexer has processed. The indexers then remove their own
 * rows (`indexing/removal.ts`). A batch that an indexer could not process stays, and holds nothing else back.
 */
export class RetentionService extends Service {
  readonly #keep: KeptBy
  readonly #storages: readonly KeptStorage[]
  readonly #fullness: () => number
  readonly #waitMs: number
  readonly #counts = { looks: 0, batchesRemoved: 0, bytesRemoved: 0, removedToTick: -1, batchesHeld: 0 }

  constructor(name: string, { keep, storages, fullness, logger }: RetentionOptions) {
    super(name, logger)
    this.#keep = keep
    this.#storages = storages
    this.#fullness = fullness
    const waitMs = 'ms' in keep ? keep.ms / 10 : 'fits' in keep ? 2_000 : 1_000
    this.#waitMs = Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, waitMs))
  }

  protected override async run(context: ServiceContext): Promise<void> {
    const { signal } = context
    while (!signal.aborted) {
      await context.unpaused()
      try {
        await context.through('remove old batches', () => this.#look(signal))
      } catch (error) {
        // A stop, or something that may be different at the next check.
        context.report('remove old batches', error)
      }
      await pauseFor(this.#waitMs, signal)
    }
  }

  protected override metrics(): Record<string, number> {
    return this.#counts
  }

  async #look(signal: AbortSignal): Promise<void> {
    let held = 0
    for (const { storage, indexes, runIds } of this.#storages) {
      for (const runId of runIds.length > 0 ? runIds : await newestRun(storage)) {
        if (signal.aborted) return
        held += await this.#lookAt(runId, storage, indexes)
      }
    }
    this.#counts.batchesHeld = held
    this.#counts.looks++
  }

  /** How many are old and not processed by all. */
  async #lookAt(runId: string, storage: Storage, indexes: readonly FollowingIndex[]): Promise<number> {
    const processed = await processedByAll(runId, indexes)
    if (processed.lastTick < 0) return 0
    const old = await this.#oldBatches(runId, storage, processed)
    const removed = await storage.removedRanges(runId)
    for (const range of rangesToRemove(old, removed)) {
      const { batches, bytes } = await storage.removeBatches(runId, range)
      this.#counts.batchesRemoved += batches
      this.#counts.bytesRemoved += bytes
      this.#counts.removedToTick = Math.max(this.#counts.removedToTick, range.tickEnd)
      this.logger.debug({ service: this.name, runId, ...range, batches, bytes }, 'removed old batches')
    }
    return old.filter(({ isProcessed }) => !isProcessed).length
  }

  /** From the first tick to the first that is too young. */
  async #oldBatches(runId: string, storage: Storage, processed: Processed): Promise<Found[]> {
    const found: Found[] = []
    const isOld = await this.#rule(runId, storage, processed)
    for (let after: string | null = ''; after !== null && found.length < MOST_AT_ONCE; ) {
      const page = await storage.listBatches({ prefix: `${runId}/`, ...(after !== '' && { after }) })
      for (const batch of page.items) {
        if (!(await isOld(batch))) return found
        found.push({ ...batch, isProcessed: processed.isProcessed(batch) })
      }
      after = page.next
    }
    return found
  }

  /** Tells which batches are too old now. */
  async #rule(
    runId: string,
    storage: Storage,
    { lastTick }: Processed,
  ): Promise<(batch: BatchRef) => boolean | Promise<boolean>> {
    const keep = this.#keep
    if ('ms' in keep) {
      return async ({ key }) => {
        const writtenAt = await storage.writtenAt(key)
        return writtenAt === null || writtenAt <= Date.now() - keep.ms
      }
    }
    const lastOld = 'ticks' in keep ? lastTick - keep.ticks : await this.#lastToMakeRoom(runId, storage, lastTick)
    return ({ tickEnd }) => tickEnd <= lastOld
  }

  /** The oldest part of the run, if the budget is nearly used up. */
  async #lastToMakeRoom(runId: string, storage: Storage, lastTick: number): Promise<number> {
    if (this.#fullness() < FULL) return -1
    const { items } = await storage.listBatches({ prefix: `${runId}/`, limit: 1 })
    const [oldest] = items
    if (oldest === undefined) return -1
    // At least one batch: in a short run it has more than that part of the ticks.
    const part = Math.max(oldest.tickEnd, oldest.tickStart + Math.ceil((lastTick - oldest.tickStart) * PART))
    return Math.min(part, lastTick - FEWEST_KEPT)
  }
}

/**
 * Adjacent batches form one range, also with what was removed before: a run that loses its oldest batches has one
 * range, however long it continues. A batch that stays ends a range.
 */
export function rangesToRemove(old: readonly Found[], removed: readonly TickRange[]): TickRange[] {
  const before = removed.map(range => ({ ...range, isProcessed: true, isNew: false }))
  const all = [...before, ...old.map(batch => ({ ...batch, isNew: true }))]
  const ranges: (TickRange & { isNew: boolean })[] = []
  let isOpen = false
  for (const { tickStart, tickEnd, isProcessed, isNew } of all.sort((a, b) => a.tickStart - b.tickStart)) {
    const last = ranges.at(-1)
    if (isProcessed && isOpen && last !== undefined) {
      const whole = { tickStart: last.tickStart, tickEnd: Math.max(last.tickEnd, tickEnd), isNew: last.isNew || isNew }
      ranges[ranges.length - 1] = whole
    } else if (isProcessed) ranges.push({ tickStart, tickEnd, isNew })
    isOpen = isProcessed
  }
  return ranges.filter(({ isNew }) => isNew).map(({ tickStart, tickEnd }) => ({ tickStart, tickEnd }))
}

async function newestRun(storage: Storage): Promise<string[]> {
  let newest: string | undefined
  for (let after: string | null = ''; after !== null; ) {
    const page = await storage.listRuns(after === '' ? {} : { after })
    newest = page.items.at(-1) ?? newest
    after = page.next
  }
  return newest === undefined ? [] : [newest]
}

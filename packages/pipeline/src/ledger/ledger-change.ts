/**
 * One change of a ledger: the state machine of a batch.
 *
 *                   tryClaim, nothing missing before it
 *      (unknown) ────────────────────────────────────────▶ claimed ──complete──▶ completed
 *          │                                              ▲  │  ▲ │
 *          │ tryClaim, a gap before it        tryClaim or │  │  │ └──fail──▶ failed ──retry──▶ ready
 *          ▼                                  claimNext   │  │  └─ take-over after claimTimeout: the next version
 *     gap_pending ──────the gap fills──────▶ ready ───────┘  │
 *                   (or is given up)           ▲             │
 *                                              └───release───┘
 *
 * A claim has a version; only the newest one of a batch can complete, fail, release or extend it. Any other gets a
 * `StaleClaimError` and changes nothing. Repeating a settlement changes nothing and is no error.
 *
 * "Nothing missing" means: all ticks from the first on have arrived, in whatever state their batches are. So a batch
 * after one that waits for a gap waits too, but a failed batch blocks nobody: it is listed for a person to look at, and
 * would otherwise stop everything after it for ever.
 *
 * A change locks the ledger's single row, so concurrent changes of several instances are serialised.
 */
import type { BatchRow, BatchStatus, LedgerRows, TickRange } from '../databases/ledger-store.ts'
import type { Batch, BatchClaim, BatchClaimResult } from './batch-claim.ts'
import { LedgerConflictError, StaleClaimError } from './errors.ts'
import { arrive, type Gap, gapBefore, widened } from './gap-detection.ts'
import type { LedgerSettings } from './ledger-options.ts'

/** Events, emitted after the commit. */
export type Note =
  | { readonly kind: 'claimed'; readonly claim: BatchClaim; readonly from: string | null }
  | { readonly kind: 'gapPending' }
  | { readonly kind: 'released'; readonly batches: number; readonly range: TickRange }
  | { readonly kind: 'settled'; readonly status: Settled['status'] }
  | { readonly kind: 'permanentGap'; readonly gap: Gap }

export type Settled = {
  readonly status: Extract<BatchStatus, 'completed' | 'failed' | 'ready'>
  readonly error: string | null
}

export class LedgerChange {
  readonly notes: Note[] = []
  readonly #rows: LedgerRows
  readonly #settings: LedgerSettings

  constructor(rows: LedgerRows, settings: LedgerSettings) {
    this.#rows = rows
    this.#settings = settings
  }

  async tryClaim(batch: Batch, claimer: string): Promise<BatchClaimResult> {
    const row = await this.#rows.batch(batch.key)
    if (row === null) return await this.#claimNew(batch, claimer)
    requireSameTicks(row, batch)
    switch (row.status) {
      case 'completed':
      case 'failed':
        return { outcome: row.status }
      case 'gap_pending':
        return { outcome: 'gap_pending', gap: await this.#gapBefore(row) }
      case 'claimed':
        if (!this.#isStuck(row)) return { outcome: 'held' }
        break
      case 'ready':
    }
    return { outcome: 'claimed', claim: await this.#claim(row, row, claimer) }
  }

  async claimNext(claimer: string): Promise<BatchClaim | null> {
    const row = (await this.#rows.stuckBatch(this.#stuckSince)) ?? (await this.#rows.readyBatch())
    return row && (await this.#claim(row, row, claimer))
  }

  async settle(claim: BatchClaim, { status, error }: Settled): Promise<void> {
    const row = await this.#rows.batch(claim.key)
    if (row?.version === claim.version && row.status === status) return
    const held = this.#requireHeld(row, claim)
    const settledAt = status === 'ready' ? null : this.#rows.now
    await this.#rows.saveBatch({ ...held, status, settledAt, error }, held)
    if (status === 'completed') await this.#addProcessed(held)
    this.notes.push({ kind: 'settled', status })
  }

  async extend(claim: BatchClaim): Promise<void> {
    const held = this.#requireHeld(await this.#rows.batch(claim.key), claim)
    await this.#rows.saveBatch({ ...held, claimedAt: this.#rows.now }, held)
  }

  async retry(key: string): Promise<boolean> {
    const row = await this.#rows.batch(key)
    if (row?.status !== 'failed') return false
    await this.#rows.saveBatch({ ...row, status: 'ready', settledAt: null, error: null }, row)
    return true
  }

  async recordProcessed(range: TickRange): Promise<boolean> {
    await this.#arrive(range, true)
    const isNew = await this.#addProcessed(range)
    if (isNew) await this.#rows.countRecorded()
    return isNew
  }

  /** Their files were removed: nothing waits for them, they are not a gap, and their history is not needed. */
  async recordRemoved(range: TickRange): Promise<void> {
    await this.#arrive(range, true)
    await this.#rows.removeCompleted(range)
  }

  async forget(claim: BatchClaim): Promise<void> {
    const held = this.#requireHeld(await this.#rows.batch(claim.key), claim)
    await this.#rows.removeBatch(held)
  }

  async reportPermanentGaps(): Promise<Gap[]> {
    const { gapWarningMs, releasesPermanent } = this.#settings
    const { now } = this.#rows
    const overdue = await this.#rows.overdueGaps(now - gapWarningMs, releasesPermanent)
    const reported: Gap[] = []
    for (const row of overdue) {
      const gapReportedAt = row.gapReportedAt ?? now
      const after = { ...row, gapReportedAt, isHeld: row.isHeld && !releasesPermanent, isGapSkipped: releasesPermanent }
      await this.#rows.replaceArrived([row], after)
      if (row.isHeld && !after.isHeld) this.#noteReleased(await this.#rows.releaseWaiting(row), row)
      if (row.gapReportedAt === null) reported.push(gapBefore(after, this.#settings))
    }
    this.notes.push(...reported.map(gap => ({ kind: 'permanentGap', gap }) as const))
    return reported
  }

  async #claimNew({ key, tickStart, tickEnd }: Batch, claimer: string): Promise<BatchClaimResult> {
    const row = { key, tickStart, tickEnd, version: 0, claimer: null, claimedAt: null, settledAt: null, error: null }
    if (!(await this.#arrive(row, false))) {
      return { outcome: 'claimed', claim: await this.#claim({ ...row, status: 'ready' }, null, claimer) }
    }
    await this.#rows.saveBatch({ ...row, status: 'gap_pending' }, null)
    this.notes.push({ kind: 'gapPending' })
    return { outcome: 'gap_pending', gap: await this.#gapBefore(row) }
  }

  /** `before`: the stored row, or null. */
  async #claim(row: BatchRow, before: BatchRow | null, claimer: string): Promise<BatchClaim> {
    const { key, tickStart, tickEnd } = row
    const version = row.version + 1
    const isTakenOver = row.status === 'claimed'
    await this.#rows.saveBatch({ ...row, status: 'claimed', version, claimer, claimedAt: this.#rows.now }, before)
    const claim = { key, tickStart, tickEnd, version, claimer, isTakenOver }
    this.notes.push({ kind: 'claimed', claim, from: isTakenOver ? row.claimer : null })
    return claim
  }

  #requireHeld(row: BatchRow | null, claim: BatchClaim): BatchRow {
    if (row?.status === 'claimed' && row.version === claim.version) return row
    const found = row === null ? 'unknown' : `${row.status}, at claim ${row.version} of '${row.claimer ?? 'nobody'}'`
    throw new StaleClaimError(claim.key, claim.version, found)
  }

  /** Whether the arrived ticks must wait. */
  async #arrive({ tickStart, tickEnd }: TickRange, isProcessed: boolean): Promise<boolean> {
    const { range, released } = await arrive(this.#rows, this.#settings, { tickStart, tickEnd }, { isProcessed })
    this.#noteReleased(released, range)
    return range.isHeld
  }

  /** Gap before these arrived ticks. */
  async #gapBefore({ tickStart, tickEnd }: TickRange): Promise<Gap> {
    const [range] = await this.#rows.arrivedIn({ tickStart, tickEnd })
    if (range === undefined) throw new LedgerConflictError(`Ticks ${tickStart} to ${tickEnd} have not arrived`)
    const previous = await this.#rows.arrivedBefore(range.tickStart)
    return gapBefore({ ...range, previousEnd: previous?.tickEnd ?? null }, this.#settings)
  }

  /** Returns false if all of it was there. */
  async #addProcessed({ tickStart, tickEnd }: TickRange): Promise<boolean> {
    const parts = await this.#rows.processedIn(widened({ tickStart, tickEnd }, this.#settings.samplingInterval))
    if (parts.some(part => part.tickStart <= tickStart && part.tickEnd >= tickEnd)) return false
    await this.#rows.replaceProcessed(parts, {
      tickStart: Math.min(tickStart, ...parts.map(part => part.tickStart)),
      tickEnd: Math.max(tickEnd, ...parts.map(part => part.tickEnd)),
    })
    return true
  }

  #isStuck({ claimedAt }: BatchRow): boolean {
    return claimedAt !== null && claimedAt <= this.#stuckSince
  }

  get #stuckSince(): number {
    const { claimTimeoutMs } = this.#settings
    return claimTimeoutMs === 0 ? Number.MIN_SAFE_INTEGER : this.#rows.now - claimTimeoutMs
  }

  #noteReleased(batches: number, { tickStart, tickEnd }: TickRange): void {
    if (batches > 0) this.notes.push({ kind: 'released', batches, range: { tickStart, tickEnd } })
  }
}

function requireSameTicks(known: BatchRow, { key, tickStart, tickEnd }: Batch): void {
  if (known.tickStart === tickStart && known.tickEnd === tickEnd) return
  throw new LedgerConflictError(
    `Batch '${key}' is known with ticks ${known.tickStart} to ${known.tickEnd}, not ${tickStart} to ${tickEnd}. ` +
      `A batch file never changes; check the storage`,
  )
}

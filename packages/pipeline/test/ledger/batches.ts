import assert from 'node:assert/strict'
import type { Batch, BatchClaim, BatchLedger, IndexDatabase, LedgerOptions } from '@tidemark/pipeline'
import { BatchLedger as Ledger } from '@tidemark/pipeline'
import type { FreshIndex } from '../engines.ts'

/** A batch of these ticks, under a key as the storage gives. */
export function batchOf(tickStart: number, tickEnd: number): Batch {
  const digits = (tick: number): string => String(tick).padStart(19, '0')
  return { key: `run/raw/000/000/batch_${digits(tickStart)}_${digits(tickEnd)}.pb.zst`, tickStart, tickEnd }
}

/** The nth batch of 100 ticks, 10 apart: 0 … 990, 1000 … 1990, and so on. */
export const nth = (index: number): Batch => batchOf(index * 1_000, index * 1_000 + 990)

export const openLedger = (database: IndexDatabase, options: Partial<LedgerOptions> = {}): Promise<BatchLedger> =>
  Ledger.open(database, { indexer: 'dummy', samplingInterval: 10, firstTick: 0, ...options })

/** Claims it, or fails the test. */
export async function claim(ledger: BatchLedger, batch: Batch, claimer = 'indexer-1'): Promise<BatchClaim> {
  const result = await ledger.tryClaim(batch, claimer)
  assert.equal(result.outcome, 'claimed', `${batch.key} is ${result.outcome}`)
  assert.ok(result.outcome === 'claimed')
  return result.claim
}

export async function process(ledger: BatchLedger, ...batches: Batch[]): Promise<void> {
  for (const batch of batches) await ledger.complete(await claim(ledger, batch))
}

export async function outcomeOf(ledger: BatchLedger, batch: Batch, claimer = 'indexer-1'): Promise<string> {
  return (await ledger.tryClaim(batch, claimer)).outcome
}

/** As if all that is stored had happened so much earlier. */
export async function letTimePass({ execute }: FreshIndex, ms: number): Promise<void> {
  await execute(`update run.batch_processing set claimed_at = claimed_at - ${ms}`)
  await execute(`update run.batch_arrived set gap_since = gap_since - ${ms}`)
}

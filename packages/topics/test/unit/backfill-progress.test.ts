import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toProgress } from '../../src/admin/backfill-progress.ts'
import type { BackfillRecord } from '../../src/stores/backfills.ts'

const RECORD: BackfillRecord = {
  topicId: 1,
  subscriptionId: 1,
  subscriptionUid: 1,
  group: 'g',
  epoch: 1,
  status: 'RUNNING',
  scope: 'pending',
  settings: { batchSize: 10, maxPerSecond: 10, targetMs: 10 },
  lowerId: 1_000,
  upperId: 2_000,
  checkpointId: 1_250,
  cursorId: 1_100,
  processed: 200,
  slowed: false,
  startedAt: 10_000,
  updatedAt: 20_000,
  endedAt: null,
  error: null,
}

describe('the progress of a backfill', () => {
  it('says how far it is, how fast, and how long it will take', () => {
    const { progress, claimed, ratePerSecond, etaMs } = toProgress(RECORD)
    assert.deepEqual(
      { progress, claimed, ratePerSecond, etaMs },
      { progress: 0.25, claimed: 0.1, ratePerSecond: 20, etaMs: 30_000 },
    )
  })

  it('has no estimate before its first batch, nor when it has ended', () => {
    assert.equal(toProgress({ ...RECORD, checkpointId: 1_000, updatedAt: 10_000 }).etaMs, null)
    assert.equal(toProgress({ ...RECORD, status: 'CANCELLED', endedAt: 20_000 }).etaMs, null)
  })

  it('is done if there was nothing to do', () => {
    const { progress, claimed } = toProgress({ ...RECORD, upperId: 1_000, checkpointId: 1_000, cursorId: 1_000 })
    assert.deepEqual([progress, claimed], [1, 1])
  })
})

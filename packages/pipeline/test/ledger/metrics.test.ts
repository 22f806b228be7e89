import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ENGINES } from '../engines.ts'
import { claim, nth, openLedger, outcomeOf } from './batches.ts'

describe('the metrics of a ledger', () => {
  it('show the work of this instance, without a query', async () => {
    await using place = await (ENGINES[0] ?? assert.fail()).fresh()
    const database = await place.open()
    const ledger = await openLedger(database)
    const held = await claim(ledger, nth(0))
    await outcomeOf(ledger, nth(0))
    await outcomeOf(ledger, nth(3))
    await outcomeOf(ledger, nth(2))
    await ledger.complete(held)
    await ledger.fail(await claim(ledger, nth(1)), 'torn')
    await database.close()
    const { totals, claimSuccessRate, latency } = ledger.metrics()
    assert.deepEqual(totals, {
      claimAttempts: 5,
      claimed: 2,
      takenOver: 0,
      completed: 1,
      failed: 1,
      givenBack: 0,
      stale: 0,
      gapPending: 2,
      gapsReleased: 2,
      permanentGaps: 0,
      errors: 0,
    })
    assert.equal(claimSuccessRate, 0.4)
    assert.deepEqual([latency.claim.count, latency.complete.count], [5, 1])
  })
})

describe('the rate of claims that succeed', () => {
  it('counts a redelivered batch as an attempt, so that it never exceeds 1', async () => {
    await using place = await (ENGINES[0] ?? assert.fail()).fresh()
    const ledger = await openLedger(await place.open())
    let held = await claim(ledger, nth(0))
    for (let time = 0; time < 3; time++) {
      await ledger.release(held)
      const again = await ledger.claimNext('indexer-1')
      assert.ok(again)
      held = again
    }
    // One that finds nothing has not tried.
    assert.equal(await ledger.claimNext('indexer-2'), null)
    const { totals, claimSuccessRate } = ledger.metrics()
    assert.deepEqual([totals.claimAttempts, totals.claimed, claimSuccessRate], [4, 4, 1])
  })
})

for (const engine of ENGINES) {
  describe(`counts on ${engine.name}`, () => {
    it('are read from one row, and ranges from one row per gap, however many batches there were', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      for (let index = 0; index < 50; index++) await ledger.complete(await claim(ledger, nth(index)))
      await ledger.recordProcessed(nth(60))
      const rows = async (table: string) =>
        Number((await place.execute(`select count(*) as n from run.${table}`))[0]?.n)
      assert.deepEqual(
        [
          await rows('batch_processing'),
          await rows('batch_ledger'),
          await rows('batch_arrived'),
          await rows('batch_processed'),
        ],
        [50, 1, 2, 2],
      )
      const [stored] = await place.execute(`select count(*) as n from run.batch_processing where status = 'completed'`)
      assert.equal((await ledger.counts()).completed, Number(stored?.n))
    })
  })
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BatchLedger, makeRunId } from '../../src/index.ts'
// Inside: which batch is held back is seen in no public answer.
import { processedByAll } from '../../src/services/retention/processed-by-all.ts'
import { ENGINES } from '../engines.ts'

for (const { name, fresh } of ENGINES) {
  describe(`what may be removed, by the ledgers on ${name}`, () => {
    it('is what every indexer has: one that lacks a batch retains it, one that has not started retains all', async () => {
      await using place = await fresh()
      await using database = await place.open()
      for (const [indexer, ranges] of [
        ['whole', [[0, 99]]],
        [
          'holed',
          [
            [0, 9],
            [20, 89],
          ],
        ],
      ] as const) {
        const ledger = await BatchLedger.open(database, { indexer, samplingInterval: 1 })
        for (const [tickStart, tickEnd] of ranges) await ledger.recordProcessed({ tickStart, tickEnd })
      }
      const index = { address: place.address, options: {}, indexers: ['whole'] }
      const { lastTick, isProcessed } = await processedByAll(place.runId, [index])
      assert.equal(lastTick, 89)
      assert.equal(isProcessed({ tickStart: 0, tickEnd: 9 }), true)
      assert.equal(isProcessed({ tickStart: 10, tickEnd: 19 }), false)
      assert.equal(isProcessed({ tickStart: 20, tickEnd: 29 }), true)
      assert.equal(isProcessed({ tickStart: 90, tickEnd: 99 }), false)
      const withLate = { ...index, indexers: ['whole', 'late'] }
      const held = await processedByAll(place.runId, [withLate])
      assert.deepEqual([held.lastTick, held.isProcessed({ tickStart: 0, tickEnd: 9 })], [-1, false])
      const unknown = await processedByAll(makeRunId(), [index])
      assert.deepEqual([unknown.lastTick, unknown.isProcessed({ tickStart: 0, tickEnd: 9 })], [-1, false])
      // One that this pipeline knows nothing of has the rest.
      const foreign = await processedByAll(place.runId, [{ ...index, indexers: [] }])
      assert.deepEqual([foreign.lastTick, foreign.isProcessed({ tickStart: 10, tickEnd: 19 })], [89, false])
    })

    it('is known beyond a thousand gaps', async () => {
      await using place = await fresh()
      await using database = await place.open()
      const ledger = await BatchLedger.open(database, { indexer: 'whole', samplingInterval: 1 })
      await database.transaction(async tx => {
        for (let tick = 0; tick <= 2_000; tick += 2) {
          await ledger.recordProcessed({ tickStart: tick, tickEnd: tick }, { tx })
        }
      })
      const index = { address: place.address, options: {}, indexers: ['whole'] }
      const { lastTick, isProcessed } = await processedByAll(place.runId, [index])
      assert.deepEqual([lastTick, isProcessed({ tickStart: 2_000, tickEnd: 2_000 })], [2_000, true])
    })
  })
}

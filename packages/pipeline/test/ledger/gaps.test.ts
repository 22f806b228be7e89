import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BatchLedger, Gap } from '@tidemark/pipeline'
import { ENGINES } from '../engines.ts'
import { batchOf, claim, letTimePass, nth, openLedger, outcomeOf, process } from './batches.ts'

const MINUTE = 60_000

for (const engine of ENGINES) {
  describe(`gaps on ${engine.name}`, () => {
    it('are none between batches of any sizes that follow each other by the sampling interval', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await process(ledger, batchOf(0, 990), batchOf(1000, 1420), batchOf(1430, 1430), batchOf(1440, 2580))
      assert.deepEqual(await ledger.gaps(), [])
      assert.deepEqual(await ledger.processedRanges(), [{ tickStart: 0, tickEnd: 2580 }])
      assert.equal(await ledger.gapBefore(2590), null)
    })

    it('are found before a batch that starts later than expected', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await process(ledger, batchOf(0, 990), batchOf(1000, 1420))
      assert.deepEqual(await ledger.gapBefore(2000), { tickStart: 1430, tickEnd: 1990 })
      const result = await ledger.tryClaim(batchOf(2000, 2990), 'indexer-1')
      assert.ok(result.outcome === 'gap_pending')
      assert.deepEqual(ticksOf(result.gap), [1430, 1990])
      assert.ok(Math.abs(result.gap.since - Date.now()) < MINUTE)
      assert.deepEqual(await gapsOf(ledger), [[1430, 1990]])
    })

    it('are found before the first batch that arrives, unless any may be the first', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const ledger = await openLedger(database)
      assert.equal(await outcomeOf(ledger, nth(1)), 'gap_pending')
      assert.deepEqual(await gapsOf(ledger), [[0, 990]])
      const anywhere = await openLedger(database, { indexer: 'anywhere', firstTick: null })
      assert.equal(await anywhere.gapBefore(1000), null)
      assert.equal(await outcomeOf(anywhere, nth(1)), 'claimed')
      assert.deepEqual(await gapsOf(anywhere), [])
      assert.equal(await outcomeOf(anywhere, batchOf(0, 500)), 'claimed')
      assert.deepEqual(await gapsOf(anywhere), [[510, 990]])
    })

    it('are not hidden by a predecessor that waits itself', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await process(ledger, nth(0))
      for (const index of [2, 3, 4]) assert.equal(await outcomeOf(ledger, nth(index)), 'gap_pending')
      assert.deepEqual(await ledger.gapBefore(5000), { tickStart: 1000, tickEnd: 1990 })
      const { completed, gap_pending } = await ledger.counts()
      assert.deepEqual([completed, gap_pending], [1, 3])
      assert.equal(await ledger.claimNext('indexer-1'), null)
    })

    it('are not caused by a predecessor that is still being processed, or has failed', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      const first = await claim(ledger, nth(0))
      assert.equal(await outcomeOf(ledger, nth(1)), 'claimed')
      await ledger.fail(first, 'torn')
      assert.equal(await outcomeOf(ledger, nth(2)), 'claimed')
      assert.deepEqual(await ledger.gaps(), [])
      assert.deepEqual(await ledger.processedRanges(), [])
    })

    it('release all waiting batches when they fill, in whatever order batches arrive', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      const released: unknown[] = []
      ledger.events.on('released', event => released.push(event))
      await process(ledger, nth(0))
      for (const index of [4, 2, 3]) assert.equal(await outcomeOf(ledger, nth(index)), 'gap_pending')
      await process(ledger, nth(1))
      assert.deepEqual(released, [{ batches: 3, range: { tickStart: 0, tickEnd: 4990 } }])
      assert.equal((await ledger.counts()).ready, 3)
      assert.equal(await outcomeOf(ledger, nth(2)), 'claimed')
      assert.deepEqual((await ledger.claimNext('indexer-2'))?.key, nth(3).key)
      assert.deepEqual((await ledger.claimNext('indexer-2'))?.key, nth(4).key)
      assert.deepEqual(await ledger.gaps(), [])
      const { ready, claimed, gap_pending } = await ledger.counts()
      assert.deepEqual([ready, claimed, gap_pending], [0, 3, 0])
    })

    it('release up to the next gap only', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      for (const index of [1, 2, 4, 5]) await outcomeOf(ledger, nth(index))
      await process(ledger, nth(0))
      const { ready, gap_pending } = await ledger.counts()
      assert.deepEqual([ready, gap_pending], [2, 2])
      assert.deepEqual(await gapsOf(ledger), [[3000, 3990]])
    })

    it('shrink from both ends and split, and keep the time they were noticed', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await process(ledger, nth(0))
      await outcomeOf(ledger, nth(9))
      await letTimePass(place, 10 * MINUTE)
      const [whole] = await ledger.gaps()
      await outcomeOf(ledger, nth(1))
      await outcomeOf(ledger, nth(8))
      await outcomeOf(ledger, nth(5))
      assert.deepEqual(await gapsOf(ledger), [
        [2000, 4990],
        [6000, 7990],
      ])
      assert.deepEqual(
        (await ledger.gaps()).map(({ since }) => since),
        [whole?.since, whole?.since],
      )
    })

    it('are covered by batches that overlap', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await process(ledger, batchOf(0, 400), batchOf(300, 1200), batchOf(1000, 2000), batchOf(500, 600))
      assert.deepEqual(await ledger.gaps(), [])
      assert.deepEqual(await ledger.processedRanges(), [{ tickStart: 0, tickEnd: 2000 }])
    })

    it('are the ticks of the grid if a batch starts off it', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await process(ledger, nth(0))
      await outcomeOf(ledger, batchOf(1005, 2000))
      assert.deepEqual(await gapsOf(ledger), [[1000, 1000]])
    })

    it('are reported as permanent once, to one instance, after gapWarningTimeout', async () => {
      await using place = await engine.fresh()
      const ledgers = await Promise.all(
        [1, 2].map(async () => openLedger(await place.open(), { gapWarningTimeout: '1m' })),
      )
      const [ledger] = ledgers
      assert.ok(ledger)
      const events: Gap[] = []
      for (const each of ledgers) each.events.on('permanentGap', gap => events.push(gap))
      await process(ledger, nth(0))
      await outcomeOf(ledger, nth(2))
      assert.deepEqual(await ledger.reportPermanentGaps(), [])
      await letTimePass(place, 2 * MINUTE)
      const reports = await Promise.all([...ledgers, ...ledgers].map(each => each.reportPermanentGaps()))
      assert.deepEqual(reports.flat().map(ticksOf), [[1000, 1990]])
      assert.deepEqual(events.map(ticksOf), [[1000, 1990]])
      assert.deepEqual(
        (await ledger.gaps()).map(gap => [...ticksOf(gap), gap.isPermanent, gap.isSkipped]),
        [[1000, 1990, true, false]],
      )
      const { completed, gap_pending } = await ledger.counts()
      assert.deepEqual([completed, gap_pending], [1, 1])
      const permanent = ledgers.map(each => each.metrics().totals.permanentGaps)
      assert.deepEqual(permanent.toSorted(), [0, 1])
    })

    it('are not reported again for a part that was reported', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await process(ledger, nth(0))
      await outcomeOf(ledger, nth(9))
      await letTimePass(place, 2 * MINUTE)
      assert.equal((await ledger.reportPermanentGaps()).length, 1)
      await outcomeOf(ledger, nth(5))
      await outcomeOf(ledger, nth(20))
      assert.deepEqual(await ledger.reportPermanentGaps(), [])
      await letTimePass(place, 2 * MINUTE)
      assert.deepEqual((await ledger.reportPermanentGaps()).map(ticksOf), [[10_000, 19_990]])
    })

    it('still fill after they were reported', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await outcomeOf(ledger, nth(1))
      await letTimePass(place, 2 * MINUTE)
      await ledger.reportPermanentGaps()
      await process(ledger, nth(0), nth(1))
      assert.deepEqual(await ledger.gaps(), [])
    })

    it('delay nothing once they are given up, and stay in the list', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const waiting = await openLedger(database)
      await process(waiting, nth(0))
      for (const index of [2, 3, 6]) await outcomeOf(waiting, nth(index))
      await letTimePass(place, 2 * MINUTE)
      assert.equal((await waiting.reportPermanentGaps()).length, 2)
      // Reported before, so not again; but given up only now.
      const ledger = await openLedger(database, { afterPermanentGap: 'release' })
      assert.deepEqual(await ledger.reportPermanentGaps(), [])
      assert.equal((await ledger.counts()).ready, 3)
      await process(ledger, nth(2), nth(3), nth(4), nth(6))
      assert.deepEqual(
        (await ledger.gaps()).map(gap => [...ticksOf(gap), gap.isSkipped]),
        [
          [1000, 1990, true],
          [5000, 5990, true],
        ],
      )
      assert.equal(await outcomeOf(ledger, nth(8)), 'gap_pending')
      // What arrives after all is taken at once.
      await process(ledger, batchOf(1500, 1700))
      assert.deepEqual((await gapsOf(ledger)).slice(0, 2), [
        [1000, 1490],
        [1710, 1990],
      ])
    })
  })

  describe(`ranges that are only recorded on ${engine.name}`, () => {
    it('show gaps and processed ranges, without a claim', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      assert.equal(await ledger.recordProcessed(nth(0)), true)
      assert.equal(await ledger.recordProcessed(nth(3)), true)
      assert.equal(await ledger.recordProcessed(nth(2)), true)
      assert.equal(await ledger.recordProcessed(nth(2)), false)
      assert.deepEqual(await gapsOf(ledger), [[1000, 1990]])
      assert.deepEqual(await ledger.processedRanges(), [
        { tickStart: 0, tickEnd: 990 },
        { tickStart: 2000, tickEnd: 3990 },
      ])
      await letTimePass(place, 2 * MINUTE)
      assert.deepEqual((await ledger.reportPermanentGaps()).map(ticksOf), [[1000, 1990]])
      await ledger.recordProcessed(nth(1))
      assert.deepEqual(await ledger.gaps(), [])
      assert.equal((await ledger.counts()).recorded, 4)
    })

    it('release the batches that waited for them', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await outcomeOf(ledger, nth(1))
      await ledger.recordProcessed(nth(0))
      assert.equal(await outcomeOf(ledger, nth(1)), 'claimed')
    })

    it('count with the transaction that wrote them, or not at all', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const ledger = await openLedger(database)
      const torn = database.transaction(async tx => {
        await ledger.recordProcessed(nth(0), { tx })
        throw new Error('the flush failed')
      })
      await assert.rejects(torn, /the flush failed/)
      assert.deepEqual(await ledger.processedRanges(), [])
      await database.transaction(tx => ledger.recordProcessed(nth(0), { tx }))
      assert.deepEqual(await ledger.processedRanges(), [{ tickStart: 0, tickEnd: 990 }])
    })
  })

  describe(`lists on ${engine.name}`, () => {
    it('come in pages', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      for (const index of [0, 2, 4, 6]) await ledger.recordProcessed(nth(index))
      const ranges = await ledger.processedRanges({ limit: 2 })
      const more = await ledger.processedRanges({ limit: 2, after: ranges.at(-1)?.tickEnd ?? 0 })
      assert.deepEqual(
        [...ranges, ...more].map(({ tickStart }) => tickStart),
        [0, 2000, 4000, 6000],
      )
      const gaps = await ledger.gaps({ limit: 2 })
      const moreGaps = await ledger.gaps({ limit: 2, after: (gaps.at(-1)?.tickEnd ?? 0) + 10 })
      assert.deepEqual([...gaps, ...moreGaps].map(ticksOf), [
        [1000, 1990],
        [3000, 3990],
        [5000, 5990],
      ])
      await assert.rejects(ledger.gaps({ limit: 0 }), /limit/)
    })
  })
}

const ticksOf = ({ tickStart, tickEnd }: Gap): [number, number] => [tickStart, tickEnd]
const gapsOf = async (ledger: BatchLedger): Promise<[number, number][]> => (await ledger.gaps()).map(ticksOf)

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BatchLedger, LedgerConflictError, StaleClaimError } from '@tidemark/pipeline'
import { ConfigError } from 'tidemark'
import { ENGINES } from '../engines.ts'
import { batchOf, claim, letTimePass, nth, openLedger, outcomeOf, process } from './batches.ts'

const MINUTE = 60_000

for (const engine of ENGINES) {
  describe(`claims on ${engine.name}`, () => {
    it('is claimed by one of several concurrent callers', async () => {
      await using place = await engine.fresh()
      const ledgers = await Promise.all([1, 2, 3].map(async () => openLedger(await place.open())))
      const tries = Array.from({ length: 30 }, (_, index) => ledgers[index % 3]?.tryClaim(nth(0), `indexer-${index}`))
      const outcomes = (await Promise.all(tries)).map(result => result?.outcome)
      assert.equal(outcomes.filter(outcome => outcome === 'claimed').length, 1)
      assert.equal(outcomes.filter(outcome => outcome === 'held').length, 29)
    })

    it('are separate for each indexer, and listed by its name', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      for (const indexer of ['b', 'A', 'a.b']) await BatchLedger.open(database, { indexer, samplingInterval: 2 })
      const common = { samplingInterval: 2, firstTick: null }
      assert.deepEqual(await database.ledger.list(), [
        { indexer: 'A', ...common },
        { indexer: 'a.b', ...common },
        { indexer: 'b', ...common },
      ])
    })

    it('reports the outcome of a finished batch', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await process(ledger, nth(0))
      await ledger.fail(await claim(ledger, nth(1)), new TypeError('checksum is wrong\0'))
      assert.equal(await outcomeOf(ledger, nth(0)), 'completed')
      assert.equal(await outcomeOf(ledger, nth(1)), 'failed')
      const [failed, ...others] = await ledger.failed()
      assert.equal(others.length, 0)
      assert.equal(failed?.key, nth(1).key)
      assert.equal(failed?.error, 'TypeError: checksum is wrong')
      assert.ok(Math.abs((failed?.settledAt ?? 0) - Date.now()) < MINUTE)
    })

    it('makes a failed batch available again only on request', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await ledger.fail(await claim(ledger, nth(0)), 'torn')
      await letTimePass(place, 60 * MINUTE)
      assert.equal(await ledger.claimNext('indexer-2'), null)
      assert.equal(await ledger.retry(nth(0).key), true)
      assert.equal(await ledger.retry(nth(0).key), false)
      const again = await ledger.claimNext('indexer-2')
      assert.deepEqual([again?.key, again?.version, again?.isTakenOver], [nth(0).key, 2, false])
      assert.ok(again)
      await ledger.complete(again)
      assert.deepEqual(await ledger.failed(), [])
      assert.deepEqual(await ledger.processedRanges(), [{ tickStart: 0, tickEnd: 990 }])
    })

    it('keeps a claim until it expires, then passes it on with the next version', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open(), { claimTimeout: '5m' })
      const first = await claim(ledger, nth(0), 'indexer-1')
      await letTimePass(place, 4 * MINUTE)
      assert.equal(await outcomeOf(ledger, nth(0), 'indexer-2'), 'held')
      assert.equal(await ledger.claimNext('indexer-2'), null)
      await letTimePass(place, 2 * MINUTE)
      const events: unknown[] = []
      ledger.events.on('takenOver', event => events.push([event.key, event.from, event.claimer]))
      const second = await claim(ledger, nth(0), 'indexer-2')
      assert.deepEqual([first.version, second.version], [1, 2])
      assert.deepEqual([first.isTakenOver, second.isTakenOver], [false, true])
      assert.deepEqual(events, [[nth(0).key, 'indexer-1', 'indexer-2']])
    })

    for (const late of ['complete', 'fail', 'release', 'extend', 'forget'] as const) {
      it(`refuses a late ${late} by the former claimer, which changes nothing`, async () => {
        await using place = await engine.fresh()
        const ledger = await openLedger(await place.open())
        const former = await claim(ledger, nth(0), 'indexer-1')
        await letTimePass(place, 10 * MINUTE)
        const current = await claim(ledger, nth(0), 'indexer-2')
        const before = await ledger.batch(nth(0).key)
        const refused = late === 'fail' ? ledger.fail(former, 'late') : ledger[late](former)
        await assert.rejects(refused, (error: unknown) => {
          assert.ok(error instanceof StaleClaimError)
          assert.match(error.message, /claim 1 .*claim 2 of 'indexer-2'.*Nothing was changed/)
          return true
        })
        assert.deepEqual(await ledger.batch(nth(0).key), before)
        assert.deepEqual(await ledger.processedRanges(), [])
        await ledger.complete(current)
        await assert.rejects(ledger.complete(former), StaleClaimError)
        assert.deepEqual(await ledger.counts(), { ...NONE, completed: 1 })
        assert.equal(ledger.metrics().totals.stale, 2)
      })
    }

    it('gives an expired claim to whoever asks for the next one, before a batch that is ready', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open(), { claimTimeout: '5m' })
      await claim(ledger, nth(0), 'indexer-1')
      await ledger.release(await claim(ledger, nth(1), 'indexer-1'))
      await letTimePass(place, 6 * MINUTE)
      const [first, second] = [await ledger.claimNext('indexer-2'), await ledger.claimNext('indexer-2')]
      assert.deepEqual([first?.key, first?.version, first?.isTakenOver], [nth(0).key, 2, true])
      assert.deepEqual([second?.key, second?.isTakenOver], [nth(1).key, false])
      assert.equal(await ledger.claimNext('indexer-2'), null)
    })

    it('accepts a late completion if nobody has taken over', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      const only = await claim(ledger, nth(0))
      await letTimePass(place, 10 * MINUTE)
      await ledger.complete(only)
      assert.equal(await outcomeOf(ledger, nth(0), 'indexer-2'), 'completed')
    })

    it('never takes over a claim if claimTimeout is 0', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open(), { claimTimeout: 0 })
      await claim(ledger, nth(0))
      await letTimePass(place, 1e9)
      assert.equal(await outcomeOf(ledger, nth(0), 'indexer-2'), 'held')
      assert.equal(await ledger.claimNext('indexer-2'), null)
    })

    it('restarts the time of a claim when it is extended', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      const held = await claim(ledger, nth(0))
      await letTimePass(place, 10 * MINUTE)
      await ledger.extend(held)
      assert.equal(await outcomeOf(ledger, nth(0), 'indexer-2'), 'held')
      await ledger.complete(held)
    })

    it('makes a released batch available at once', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      const given = await claim(ledger, nth(0), 'indexer-1')
      await ledger.release(given)
      await ledger.release(given)
      const next = await ledger.claimNext('indexer-2')
      assert.deepEqual([next?.version, next?.isTakenOver], [2, false])
      await assert.rejects(ledger.complete(given), StaleClaimError)
    })

    it('settles once, however often it is called', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      const held = await claim(ledger, nth(0))
      await ledger.complete(held)
      const once = await ledger.batch(held.key)
      await ledger.complete(held)
      assert.deepEqual(await ledger.batch(held.key), once)
      await assert.rejects(ledger.fail(held, 'no'), StaleClaimError)
      assert.deepEqual(await ledger.counts(), { ...NONE, completed: 1 })
    })

    it('completes with the transaction that wrote the batch, or not at all', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const ledger = await openLedger(database)
      const held = await claim(ledger, nth(0))
      const torn = database.transaction(async tx => {
        await ledger.complete(held, { tx })
        throw new Error('the flush failed')
      })
      await assert.rejects(torn, /the flush failed/)
      assert.equal((await ledger.batch(held.key))?.status, 'claimed')
      assert.deepEqual(await ledger.processedRanges(), [])
      await database.transaction(tx => ledger.complete(held, { tx }))
      assert.deepEqual(await ledger.counts(), { ...NONE, completed: 1 })
    })

    it('keeps the ledgers of two indexers apart', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const environment = await openLedger(database, { indexer: 'environment' })
      const organism = await openLedger(database, { indexer: 'organism' })
      await process(environment, nth(0))
      assert.equal(await outcomeOf(organism, nth(0)), 'claimed')
      assert.deepEqual(await organism.processedRanges(), [])
    })

    it('refuses a batch or a ledger that contradicts what is stored', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      const ledger = await openLedger(database)
      await claim(ledger, nth(0))
      await assert.rejects(ledger.tryClaim({ ...nth(0), tickEnd: 980 }, 'indexer-1'), LedgerConflictError)
      await assert.rejects(openLedger(database, { samplingInterval: 5 }), /created with samplingInterval 10/)
      await assert.rejects(openLedger(database, { firstTick: null }), LedgerConflictError)
      // Where it is not said, it is as it was.
      await openLedger(database, { indexer: 'other', firstTick: 500 })
      const same = await BatchLedger.open(database, { indexer: 'other', samplingInterval: 10 })
      assert.deepEqual(await same.gapBefore(1_000), { tickStart: 500, tickEnd: 990 })
    })

    it('refuses ticks that are not a batch', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      for (const batch of [
        batchOf(10, 0),
        batchOf(-10, 0),
        batchOf(0.5, 10),
        batchOf(0, Number.MAX_SAFE_INTEGER + 1),
        { ...nth(0), key: '' },
        { ...nth(0), key: 'a\0b' },
        { ...nth(0), key: 'half a \ud800 pair' },
        { ...nth(0), key: 'x'.repeat(2_001) },
      ]) {
        await assert.rejects(ledger.tryClaim(batch, 'indexer-1'), ConfigError)
      }
      await assert.rejects(ledger.tryClaim(nth(0), ''), ConfigError)
      assert.deepEqual(await ledger.counts(), NONE)
    })
  })
}

describe('the options of a ledger', () => {
  it('are checked by name', async () => {
    await using place = await (ENGINES[0] ?? assert.fail()).fresh()
    const database = await place.open()
    const refused: [object, RegExp][] = [
      [{ indexer: '' }, /indexer/],
      [{ samplingInterval: 0 }, /samplingInterval/],
      [{ firstTick: -1 }, /firstTick/],
      [{ claimTimeout: '5 minutes' }, /claimTimeout.*5 minutes/],
      [{ gapWarningTimeout: -1 }, /gapWarningTimeout/],
      [{ afterPermanentGap: 'stop' }, /afterPermanentGap.*'wait' or 'release'/],
      [{ claimTimout: '5m' }, /claimTimout.*claimTimeout/],
    ]
    for (const [options, message] of refused) await assert.rejects(openLedger(database, options), message)
  })
})

const NONE = { claimed: 0, completed: 0, failed: 0, gap_pending: 0, ready: 0, recorded: 0 }

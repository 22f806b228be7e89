import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Script, spawnScript } from '../../../../testing/processes.ts'
import { ENGINES, type FreshIndex } from '../engines.ts'
import { claim, letTimePass, nth, openLedger, outcomeOf, process } from './batches.ts'
import type { IndexerArguments } from './scripts/indexer.ts'

const BATCHES = 100
const TEN_MINUTES = 600_000

for (const engine of ENGINES) {
  describe(`indexers in processes of their own, on ${engine.name}`, () => {
    it('three that compete over 100 batches complete each of them once, and all have a share', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await using stack = new AsyncDisposableStack()
      const indexers = [1, 2, 3].map(number => stack.use(start(place, `indexer-${number}`)))
      for (const indexer of indexers) await indexer.waitForLine('ready')
      for (const indexer of indexers) indexer.send({ go: true })
      for (const { exited, errorLines } of indexers) {
        assert.deepEqual(await exited, { code: 0, signal: null }, errorLines.join('\n'))
      }
      const completed = indexers.map(({ lines }) => lines.filter(line => line.startsWith('completed ')))
      assert.equal(completed.flat().length, BATCHES)
      assert.equal(new Set(completed.flat()).size, BATCHES)
      for (const { length } of completed) assert.ok(length > 0 && length < BATCHES, `${length} batches`)
      assert.equal((await ledger.counts()).completed, BATCHES)
      assert.deepEqual(await ledger.processedRanges(), [{ tickStart: 0, tickEnd: BATCHES * 1_000 - 10 }])
    })

    it('a killed one loses its batch to another when its claim expires', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await using victim = start(place, 'victim', true)
      await victim.waitForLine('ready')
      victim.send({ go: true })
      assert.equal(await victim.waitForLine('claimed'), 'claimed 1')
      victim.kill('SIGKILL')
      await victim.exited
      assert.equal(await outcomeOf(ledger, nth(0)), 'held')
      await letTimePass(place, TEN_MINUTES)
      const taken = await ledger.claimNext('indexer-2')
      assert.deepEqual([taken?.key, taken?.version, taken?.isTakenOver], [nth(0).key, 2, true])
      assert.ok(taken)
      await ledger.complete(taken)
      await process(ledger, nth(1))
    })

    it('one that was frozen for too long is refused when it continues', async () => {
      await using place = await engine.fresh()
      const ledger = await openLedger(await place.open())
      await using frozen = start(place, 'frozen', true)
      await frozen.waitForLine('ready')
      frozen.send({ go: true })
      await frozen.waitForLine('claimed')
      frozen.kill('SIGSTOP')
      await letTimePass(place, TEN_MINUTES)
      const taken = await claim(ledger, nth(0), 'indexer-2')
      frozen.kill('SIGCONT')
      frozen.send({ go: true })
      assert.equal(await frozen.waitForLine('stale'), 'stale 1')
      assert.equal((await ledger.batch(nth(0).key))?.claimer, 'indexer-2')
      await ledger.complete(taken)
      assert.equal((await ledger.counts()).completed, 1)
    })
  })
}

function start({ address, runId }: FreshIndex, name: string, hang = false): Script {
  const values: IndexerArguments = { address, runId, name, batches: BATCHES, hang }
  return spawnScript(new URL('scripts/indexer.ts', import.meta.url), [JSON.stringify(values)])
}

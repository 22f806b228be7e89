import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isLong } from '../../../../testing/long.ts'
import { type Script, spawnScript } from '../../../../testing/processes.ts'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import type { IndexerArguments } from './scripts/indexer.ts'
import { World } from './world.ts'

const COMMON_BATCHES = isLong ? 60 : 30
const BATCHES = isLong ? 100 : 24
/** Each engine with one source in `npm test`, and with both in `npm run test:long`. */
const USUAL_SOURCE = { SQLite: 'storage', PostgreSQL: 'topic' }

function start(world: World, more: Partial<IndexerArguments> = {}): Script {
  const { topicsUrl, storageRoot, runId, place } = world
  const values: IndexerArguments = { topicsUrl, storageRoot, runId, index: place.address, source: 'topic', ...more }
  return spawnScript(new URL('scripts/indexer.ts', import.meta.url), [JSON.stringify(values)])
}

const indexedBy = ({ lines }: Script): string[] => lines.filter(line => line.startsWith('indexed '))

for (const engine of ENGINES) {
  describe(`indexers in processes of their own, on ${engine.name}`, () => {
    const sources = (['topic', 'storage'] as const).filter(source => isLong || source === USUAL_SOURCE[engine.name])
    for (const source of sources) {
      it(`three that compete over ${BATCHES} batches of the ${source} process each of them once`, async () => {
        await using world = await World.on(engine)
        await world.indexMetadata()
        await using stack = new AsyncDisposableStack()
        const indexers = [1, 2, 3].map(() => stack.use(start(world, { source, insertBatchSize: 10 })))
        for (const indexer of indexers) await indexer.waitForLine('ready')
        await world.produce(BATCHES, 10)
        await until(() => indexers.flatMap(indexedBy).length >= BATCHES, {
          what: `${BATCHES} batches`,
          timeout: 60_000,
        })
        for (const indexer of indexers) indexer.kill('SIGTERM')
        for (const { exited, errorLines } of indexers) {
          assert.deepEqual(await exited, { code: 0, signal: null }, errorLines.join('\n'))
        }
        const indexed = indexers.map(indexedBy)
        assert.equal(indexed.flat().length, BATCHES)
        assert.equal(new Set(indexed.flat()).size, BATCHES)
        await world.assertIndexed({ batches: BATCHES, ticks: BATCHES * 10 })
        if (source === 'topic') assert.equal(await world.unacked(), 0)
      })

      it(`buffer loss: killed with batches of the ${source} in its buffer, and all is recovered`, async () => {
        await using undisturbed = await World.on(engine)
        await using world = await World.on(engine, { lease: 1_000 })
        for (const each of [undisturbed, world]) {
          await each.indexMetadata()
          await each.produce(7, 10)
        }
        const lasting = await undisturbed.started({ insertBatchSize: 10 })
        await until(() => lasting.acked.length === 7, { what: 'the undisturbed index' })

        // Two flushes of 25 are five batches; the last two are in the buffer when it dies.
        await using victim = start(world, { source, insertBatchSize: 25, hangAtTick: 50 })
        await victim.waitForLine('hangs')
        victim.kill('SIGKILL')
        await victim.exited
        assert.equal(indexedBy(victim).length, 5)
        await world.assertIndexed({ batches: 5, ticks: 50 })

        await using next = start(world, { source, insertBatchSize: 40, claimTimeout: 1_000, flushTimeout: 50 })
        await until(() => indexedBy(next).length >= 2, { what: 'the rest to be recovered', timeout: 60_000 })
        assert.deepEqual(await world.rows(), await undisturbed.rows())
        await world.assertIndexed({ batches: 7, ticks: 70 })
      })
    }

    it('killed repeatedly at any moment, it produces the index of an undisturbed run', async () => {
      await using undisturbed = await World.on(engine)
      await using world = await World.on(engine, { lease: 300 })
      // Kills cost attempts, and this is not about dead letters.
      for (const each of [undisturbed, world]) {
        await each.indexMetadata()
        await each.produce(COMMON_BATCHES, 10)
      }
      const lasting = await undisturbed.started({ insertBatchSize: 10 })
      await until(() => lasting.acked.length === COMMON_BATCHES, { what: 'the undisturbed index' })
      for (const batches of [1, 4, 9]) {
        await using victim = start(world, { insertBatchSize: 23, flushTimeout: 50 })
        await until(() => indexedBy(victim).length >= batches, { what: `${batches} batches`, timeout: 60_000 })
        victim.kill('SIGKILL')
        await victim.exited
      }
      await using last = start(world, { insertBatchSize: 23, flushTimeout: 50 })
      await last.waitForLine('ready')
      await until(async () => (await world.unacked()) === 0, { what: 'the backlog to drain', timeout: 60_000 })
      assert.deepEqual(await world.rows(), await undisturbed.rows())
    })
  })
}

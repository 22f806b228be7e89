import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dummyIndexer, type IndexerDefinition } from '@tidemark/pipeline'
import fc from 'fast-check'
import { until } from '../../../../testing/until.ts'
import { ENGINES } from '../engines.ts'
import { range } from '../storage/ticks.ts'
import { World } from './world.ts'

const RUNS = { SQLite: 12, PostgreSQL: 5 }

const scenario = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
  insertBatchSize: fc.integer({ min: 1, max: 60 }),
  maxBufferBytes: fc.constantFrom(1, 500, 1_000_000),
  /** Which flushes fail, the first being 0. */
  failing: fc.uniqueArray(fc.nat(15), { maxLength: 4 }),
  isBuffering: fc.boolean(),
})

for (const engine of ENGINES) {
  describe(`whatever the sizes and the failures, on ${engine.name}`, () => {
    it('no batch is acked before all its ticks are in the index, and in the end all are', async () => {
      const property = fc.asyncProperty(
        scenario,
        async ({ sizes, insertBatchSize, failing, isBuffering, maxBufferBytes }) => {
          await using world = await World.on(engine)
          await world.indexMetadata()
          let flush = 0
          const definition: IndexerDefinition = {
            ...dummyIndexer,
            components: isBuffering ? ['metadata', 'buffering'] : ['metadata'],
            async flush(...given) {
              await dummyIndexer.flush(...given)
              if (failing.includes(flush++)) throw new Error('It fails this time')
            },
          }
          const { indexer, flushes, acked } = world.indexer({
            definition,
            insertBatchSize,
            maxBufferBytes,
            flushTimeout: 20,
          })
          const early: number[] = []
          indexer.events.on('indexed', ({ tickStart, tickEnd }) => {
            const flushed = new Set(flushes.flat())
            early.push(...range(tickStart, tickEnd - tickStart + 1).filter(tick => !flushed.has(tick)))
          })
          let total = 0
          for (const size of sizes) {
            await world.announce(await world.write(total, size))
            total += size
          }
          await indexer.start()
          await until(() => acked.length === sizes.length, { what: `${sizes.length} acks` })
          assert.deepEqual(early, [])
          await world.assertIndexed({ batches: sizes.length, ticks: total })
          assert.equal(await world.unacked(), 0)
        },
      )
      await fc.assert(property, { numRuns: RUNS[engine.name], endOnFailure: true })
    })
  })
}

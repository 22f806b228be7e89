import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { encodeCells, environmentIndexer, openRunIndex, singleBlob } from '@tidemark/pipeline'
import { ENGINES } from '../engines.ts'
import { cellsAt, flushInto, metadataOf, prepareIndex, tickOf } from './ticks.ts'

for (const engine of ENGINES) {
  describe(`the packed bytes of a tick, on ${engine.name}`, () => {
    for (const compression of ['zstd', 'none'] as const) {
      it(`are those of the row, with their compression: ${compression}`, async () => {
        await using place = await engine.fresh()
        const database = await place.open()
        const indexer = environmentIndexer({ strategy: singleBlob({ compression }) })
        await prepareIndex(database, metadataOf(place.runId), [indexer])
        const { cells, ...tick } = tickOf(place.runId, 1, { cells: cellsAt([3, 205]) })
        await flushInto(database, indexer, [{ ...tick, cells }, tickOf(place.runId, 2)])
        await using run = await openRunIndex(place.address, place.runId)
        const packed = await run.environment.packed(1)
        assert.equal(packed?.compression, compression)
        const bytes = compression === 'zstd' ? zstdDecompressSync(packed.bytes) : packed.bytes
        assert.deepEqual([...bytes], [...encodeCells(cells)])
        assert.deepEqual(await run.environment.packed(2), { bytes: new Uint8Array(), compression: 'none' })
        assert.equal(await run.environment.packed(3), null)
      })
    }

    it('are uncompressed if the strategy has no others', async () => {
      await using place = await engine.fresh()
      const database = await place.open()
      await prepareIndex(database, metadataOf(place.runId), [environmentIndexer()])
      const tick = tickOf(place.runId, 1, { cells: cellsAt([7]) })
      await flushInto(database, environmentIndexer(), [tick])
      const { readPacked, ...environmentStrategy } = singleBlob()
      await using run = await openRunIndex(place.address, place.runId, { environmentStrategy })
      assert.deepEqual(await run.environment.packed(1), { bytes: encodeCells(tick.cells), compression: 'none' })
      assert.equal(await run.environment.packed(3), null)
    })
  })
}

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import {
  BatchRemovedError,
  batchKey,
  batchOf,
  FileNotFoundError,
  FileSystemStorage,
  makeRunId,
  parseKeep,
} from '../../src/index.ts'
// Inside: which ranges are chosen for removal, before any is removed.
import { rangesToRemove } from '../../src/services/retention/retention-service.ts'
// Inside: up to which tick the storage is whole, which no command prints.
import { StoredRanges } from '../../src/services/stored-ranges.ts'
import { range, ticksOf } from './ticks.ts'

const RUN = makeRunId()

async function storageWith(root: string, batches: readonly (readonly [first: number, last: number])[]) {
  const storage = await FileSystemStorage.open({ root })
  for (const [first, last] of batches) {
    await storage.writeBatch(batchOf(ticksOf(range(first, last - first + 1), { runId: RUN })))
  }
  return storage
}

const keysIn = async (storage: FileSystemStorage): Promise<number[]> =>
  (await storage.listBatches({ prefix: `${RUN}/` })).items.map(({ tickStart }) => tickStart)

describe('removing batches', () => {
  it('removes those completely in the range, and remembers that they existed', async () => {
    using folder = temporaryFolder()
    const storage = await storageWith(folder.path, [
      [0, 4],
      [5, 9],
      [10, 14],
    ])
    const { batches, bytes } = await storage.removeBatches(RUN, { tickStart: 0, tickEnd: 11 })
    assert.equal(batches, 2)
    assert.ok(bytes > 0)
    assert.deepEqual(await keysIn(storage), [10])
    await assert.rejects(storage.readBatch(batchKey(RUN, 0, 4, 'zstd')), BatchRemovedError)
    await assert.rejects(storage.readBatch(batchKey(RUN, 20, 24, 'zstd')), (error: unknown) => {
      return error instanceof FileNotFoundError && !(error instanceof BatchRemovedError)
    })
    const stored = await StoredRanges.of(storage, RUN, 1)
    assert.deepEqual([stored.wholeUpTo, stored.has(0), stored.has(15)], [14, true, false])
  })

  it('that was interrupted at its start is finished by the next call, and until then the batches exist', async () => {
    using folder = temporaryFolder()
    const storage = await storageWith(folder.path, [
      [0, 4],
      [5, 9],
    ])
    const removed = join(folder.path, RUN, 'raw', 'removed')
    mkdirSync(removed)
    writeFileSync(join(removed, `${'0'.padStart(19, '0')}_${'4'.padStart(19, '0')}`), '')
    assert.equal((await storage.readBatch(batchKey(RUN, 0, 4, 'zstd'))).length, 5)
    assert.equal((await storage.removeBatches(RUN, { tickStart: 0, tickEnd: 4 })).batches, 1)
    assert.deepEqual(await keysIn(storage), [5])
  })

  it('by two at the same time removes each once and loses no range', async () => {
    using folder = temporaryFolder()
    const batches = Array.from({ length: 20 }, (_, at) => [at * 5, at * 5 + 4] as const)
    const one = await storageWith(folder.path, batches)
    const two = await FileSystemStorage.open({ root: folder.path })
    await Promise.all([
      ...batches.map(([, tickEnd]) => one.removeBatches(RUN, { tickStart: 0, tickEnd })),
      ...batches.map(([tickStart, tickEnd]) => two.removeBatches(RUN, { tickStart, tickEnd })),
    ])
    assert.deepEqual(await keysIn(one), [])
    assert.deepEqual(await two.removedRanges(RUN), [{ tickStart: 0, tickEnd: 99 }])
    // The next one tidies up.
    await one.removeBatches(RUN, { tickStart: 0, tickEnd: 104 })
    assert.equal(readdirSync(join(folder.path, RUN, 'raw', 'removed')).length, 1)
  })
})

describe('what is removed', () => {
  const batch = (tickStart: number, isProcessed = true) => ({
    ...{ key: '', runId: RUN, tickStart, tickEnd: tickStart + 9, isProcessed },
  })

  it('is merged with earlier removals, around what has to stay', () => {
    const before = [{ tickStart: 0, tickEnd: 9 }]
    assert.deepEqual(rangesToRemove([batch(10), batch(20)], before), [{ tickStart: 0, tickEnd: 29 }])
    assert.deepEqual(rangesToRemove([batch(10, false), batch(20), batch(30)], before), [{ tickStart: 20, tickEnd: 39 }])
    assert.deepEqual(rangesToRemove([batch(10, false)], before), [])
    // Recorded and still there: it is removed again.
    assert.deepEqual(rangesToRemove([batch(0)], before), [{ tickStart: 0, tickEnd: 9 }])
  })

  it("is given as a duration, a number of ticks, or 'forever'", () => {
    assert.deepEqual(parseKeep('keep', '1h'), { ms: 3_600_000 })
    assert.deepEqual(parseKeep('keep', 100), { ticks: 100 })
    assert.deepEqual(parseKeep('keep', '100000'), { ticks: 100_000 })
    assert.equal(parseKeep('keep', 'forever'), null)
    for (const wrong of [0, -1, 1.5, 'soon', '0', '', null, true, '0s']) {
      assert.throws(() => parseKeep('keep', wrong), /keep/, String(wrong))
    }
  })
})

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { batchOf, CorruptFileError, type EncodedTick, FileSystemStorage } from '../../src/index.ts'
// Inside: how often a file is read shows in no answer.
import { SharedReads } from '../../src/storage/shared-reads.ts'
import { range, ticksOf } from './ticks.ts'

/** A storage with batches of 20 ticks, each about 100 bytes, and how often a file was begun and ended. */
async function stored(batches: number) {
  const folder = temporaryFolder()
  const storage = await FileSystemStorage.open({ root: folder.path })
  const keys: string[] = []
  for (const batch of range(0, batches)) {
    keys.push((await storage.writeBatch(batchOf(ticksOf(range(batch * 20, 20))))).storageKey)
  }
  const files = { opened: 0, closed: 0 }
  async function* read(key: string): AsyncGenerator<EncodedTick, void, undefined> {
    files.opened++
    try {
      yield* storage.readTicks(key)
    } finally {
      files.closed++
    }
  }
  const sharing = (maxBytes: number) => {
    const shared = new SharedReads(maxBytes)
    return (key: string) => shared.read(key, () => read(key))
  }
  return { folder, keys, files, sharing, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

async function numbers(ticks: AsyncIterable<EncodedTick>, pause = 0): Promise<number[]> {
  const found: number[] = []
  for await (const { tick } of ticks) {
    found.push(tick)
    for (let turn = 0; turn < pause; turn++) await nextTurn()
  }
  return found
}

describe('shared reading', () => {
  it('reads a file once for concurrent readers, and for those that come soon after', async () => {
    using all = await stored(1)
    const [key = ''] = all.keys
    const read = all.sharing(1e6)
    const found = await Promise.all([numbers(read(key)), numbers(read(key), 3), numbers(read(key), 1)])
    assert.deepEqual(found, [range(0, 20), range(0, 20), range(0, 20)])
    assert.deepEqual(await numbers(read(key)), range(0, 20))
    assert.deepEqual(all.files, { opened: 1, closed: 1 })
  })

  it('returns the same bytes to everyone', async () => {
    using all = await stored(1)
    const [key = ''] = all.keys
    const read = all.sharing(1e6)
    const bytes: Uint8Array[][] = [[], []]
    for (const each of bytes) for await (const tick of read(key)) each.push(tick.bytes)
    const [first = [], second = []] = bytes
    assert.equal(first.length, 20)
    for (const [at, one] of first.entries()) assert.equal(second[at], one)
  })

  it('gives every reader every tick in order, however fast they are and wherever they stop', async () => {
    using all = await stored(3)
    const reader = fc.record({
      batch: fc.nat(2),
      pause: fc.nat(3),
      stopAt: fc.oneof(fc.constant(20), fc.nat(19)),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(reader, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(1, 500, 2_500, 1e6),
        async (readers, maxBytes) => {
          const read = all.sharing(maxBytes)
          const found = await Promise.all(
            readers.map(async ({ batch, pause, stopAt }) => {
              const ticks: number[] = []
              for await (const { tick } of read(all.keys[batch] ?? '')) {
                ticks.push(tick)
                if (ticks.length > stopAt) break
                for (let turn = 0; turn < pause; turn++) await nextTurn()
              }
              return ticks
            }),
          )
          for (const [at, { batch, stopAt }] of readers.entries()) {
            assert.deepEqual(found[at], range(batch * 20, Math.min(20, stopAt + 1)))
          }
        },
      ),
      { numRuns: 60 },
    )
    // What a dropped batch leaves behind is closed a moment later.
    while (all.files.closed < all.files.opened) await nextTurn()
  })

  it('closes a file that the last reader leaves in the middle', async () => {
    using all = await stored(1)
    const [key = ''] = all.keys
    const read = all.sharing(1e6)
    for await (const { tick } of read(key)) if (tick === 3) break
    while (all.files.closed < 1) await nextTurn()
    assert.deepEqual(await numbers(read(key)), range(0, 20))
    assert.equal(all.files.opened, 2)
  })

  it('reports a corrupt file to every reader, and forgets it', async () => {
    using all = await stored(1)
    const [key = ''] = all.keys
    const file = join(all.folder.path, key)
    const whole = readFileSync(file)
    const torn = Buffer.from(whole)
    torn[20] = (torn[20] ?? 0) ^ 0xff
    writeFileSync(file, torn)
    const read = all.sharing(1e6)
    const outcomes = await Promise.allSettled([numbers(read(key)), numbers(read(key))])
    for (const outcome of outcomes) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof CorruptFileError)
    }
    writeFileSync(file, whole)
    assert.deepEqual(await numbers(read(key)), range(0, 20))
  })
})

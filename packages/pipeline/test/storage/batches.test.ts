import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { temporaryFolder } from '../../../../testing/folders.ts'
import {
  batchKey,
  batchOf,
  ConflictError,
  decodeTick,
  type EncodedTick,
  FileNotFoundError,
  FileSystemStorage,
  InvalidBatchError,
  makeRunId,
} from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { range, ticksOf } from './ticks.ts'

for (const compression of ['zstd', 'none'] as const) {
  describe(`a batch (${compression})`, () => {
    it('is read back as written, from the path of its key', async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path, compression })
      const ticks = ticksOf(range(123_456_780, 25, 10))
      const stored = await storage.writeBatch(batchOf(ticks))
      const suffix = compression === 'zstd' ? '.pb.zst' : '.pb'
      const name = `batch_0000000000123456780_0000000000123457020${suffix}`
      assert.equal(stored.storageKey, `${RUN_ID}/raw/001/234/${name}`)
      assert.equal(stored.alreadyStored, false)
      assert.equal(stored.bytes, readFileSync(join(folder.path, stored.storageKey)).length)
      assert.deepEqual(await storage.readBatch(stored.storageKey), ticks)
      assert.deepEqual(readdirSync(join(folder.path, '.incoming')), [])
    })

    it('streams in and out, also ticks across buffer boundaries', async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path, compression })
      async function* ticks(): AsyncGenerator<EncodedTick> {
        for (const tick of range(0, 10)) yield* ticksOf([tick], { genomeBytes: tick % 2 === 0 ? 900_000 : 10 })
      }
      const batch = { runId: RUN_ID, tickStart: 0, tickEnd: 9, tickCount: 10, ticks: ticks() }
      const { storageKey } = await storage.writeBatch(batch)
      const sizes: number[] = []
      for await (const { bytes, tick } of storage.readTicks(storageKey)) {
        const [organism] = decodeTick(bytes).organisms
        assert.equal(organism?.genome.at(-1), tick)
        sizes.push(organism?.genome.length ?? 0)
        if (bytes.length < 8_192)
          assert.equal(bytes.buffer.byteLength, bytes.length, 'a small one keeps no large buffer')
      }
      assert.deepEqual(sizes, [900_000, 10, 900_000, 10, 900_000, 10, 900_000, 10, 900_000, 10])
    })

    it('describes itself', async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path, compression })
      const { bytes, alreadyStored, writtenAt, ...info } = await storage.writeBatch(batchOf(ticksOf([5, 7, 9])))
      const described = await storage.describeBatch(info.storageKey)
      assert.ok(Math.abs(described.writtenAt - writtenAt) < 60_000)
      assert.deepEqual({ ...described, writtenAt: 0 }, { ...info, writtenAt: 0 })
      assert.equal(described.tickCount, 3)
    })

    it('can be left half-read', async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path, compression })
      const { storageKey } = await storage.writeBatch(batchOf(ticksOf(range(0, 50), { genomeBytes: 50_000 })))
      for await (const tick of storage.readTicks(storageKey)) if (tick.tick === 3) break
      assert.equal((await storage.readBatch(storageKey)).length, 50)
    })
  })
}

describe('a batch written again', () => {
  it('is the same batch, also under another compression', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const plain = await FileSystemStorage.open({ root: folder.path, compression: 'none' })
    const batch = batchOf(ticksOf([1, 2, 3]))
    const first = await storage.writeBatch(batch)
    for (const again of [await storage.writeBatch(batch), await plain.writeBatch(batch)]) {
      assert.equal(again.alreadyStored, true)
      assert.equal(again.storageKey, first.storageKey)
    }
    assert.equal((await storage.listBatches({ prefix: `${RUN_ID}/` })).items.length, 1)
    assert.deepEqual(readdirSync(join(folder.path, '.incoming')), [])
  })

  it('with other ticks is a conflict, and the first stays', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2, 3])))
    await assert.rejects(storage.writeBatch(batchOf(ticksOf([1, 3]))), ConflictError)
    assert.equal((await storage.readBatch(storageKey)).length, 3)
    assert.deepEqual(readdirSync(join(folder.path, '.incoming')), [])
  })

  it('takes the place of a broken file, which goes to quarantine', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const ticks = ticksOf([1, 2, 3])
    const { storageKey } = await storage.writeBatch(batchOf(ticks))
    const file = join(folder.path, storageKey)
    const broken = readFileSync(file).subarray(0, 50)
    writeFileSync(file, broken)
    assert.equal((await storage.writeBatch(batchOf(ticks))).alreadyStored, false)
    assert.deepEqual(await storage.readBatch(storageKey), ticks)
    const [quarantined] = await storage.listQuarantined(RUN_ID)
    assert.equal(quarantined?.key, storageKey)
    assert.deepEqual(readFileSync(quarantined?.path ?? ''), broken)
  })
})

describe('compression', () => {
  it('is recognised by content, whatever the file is called', async () => {
    using folder = temporaryFolder()
    const zstd = await FileSystemStorage.open({ root: folder.path, compression: 'zstd' })
    const plain = await FileSystemStorage.open({ root: folder.path, compression: 'none' })
    const ticks = ticksOf([1, 2, 3])
    const others = ticksOf([4, 5])
    const swap = async (storage: FileSystemStorage, ticks: EncodedTick[], as: 'none' | 'zstd'): Promise<string> => {
      const { storageKey, tickStart, tickEnd } = await storage.writeBatch(batchOf(ticks))
      const key = batchKey(RUN_ID, tickStart, tickEnd, as)
      copyFileSync(join(folder.path, storageKey), join(folder.path, key))
      return key
    }
    assert.deepEqual(await zstd.readBatch(await swap(plain, ticks, 'zstd')), ticks)
    assert.deepEqual(await zstd.readBatch(await swap(zstd, others, 'none')), others)
  })

  it('makes files that zstd itself reads, to the plain form of the same batch', async () => {
    using folder = temporaryFolder()
    using other = temporaryFolder()
    const batch = batchOf(ticksOf(range(0, 30)))
    const zstd = await (await FileSystemStorage.open({ root: folder.path, level: 9 })).writeBatch(batch)
    const plain = await (await FileSystemStorage.open({ root: other.path, compression: 'none' })).writeBatch(batch)
    const sealed = readFileSync(join(folder.path, zstd.storageKey))
    const expected = readFileSync(join(other.path, plain.storageKey))
    assert.deepEqual(zstdDecompressSync(sealed.subarray(0, -16)), expected)
    assert.equal(sealed.readUInt32LE(sealed.length - 16) & 0xfffffff0, 0x184d2a50, 'a frame that decoders skip')
    assert.equal(sealed.readUInt32LE(sealed.length - 12), 8)
  })
})

describe('ticks that do not form a batch', () => {
  const otherRun = makeRunId()
  const wrong: Record<string, [EncodedTick[], RegExp]> = {
    'none at all': [[], /there are none/],
    'of two runs': [[...ticksOf([1]), ...ticksOf([2], { runId: otherRun })], /belongs to run/],
    'in the wrong order': [ticksOf([1, 3, 2, 4]), /tick 2 comes after 3/],
    'with one twice': [ticksOf([1, 2, 2, 4]), /tick 2 comes after 2/],
    'that say another number than they hold': [
      ticksOf([1, 2]).map(t => ({ ...t, tick: t.tick + 1 })),
      /the bytes of tick 1 of run/,
    ],
    'that say another run than they hold': [
      ticksOf([1]).map(tick => ({ ...tick, runId: otherRun })),
      /the bytes of tick 1 of run/,
    ],
  }
  for (const [name, [ticks, message]] of Object.entries(wrong)) {
    it(`${name} are refused, and nothing is written`, async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path })
      const isExpected = (error: unknown): boolean => error instanceof InvalidBatchError && message.test(error.message)
      await assert.rejects(async () => storage.writeBatch(batchOf(ticks)), isExpected)
      assert.deepEqual(readdirSync(join(folder.path, '.incoming')), [])
      assert.deepEqual((await storage.listBatches({ prefix: `${RUN_ID}/` })).items, [])
    })
  }

  it('whose number differs from the description are refused', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const said = { runId: RUN_ID, tickStart: 1, tickEnd: 3, tickCount: 3 }
    for (const numbers of [[1, 2], [1, 3], [1, 2, 4], [0, 1, 3], [1, 2, 3, 4], []]) {
      const writing = storage.writeBatch({ ...said, ticks: ticksOf(numbers) })
      await assert.rejects(writing, InvalidBatchError, String(numbers))
    }
    await assert.rejects(storage.writeBatch({ ...said, tickEnd: 2, ticks: ticksOf([1, 2]) }), InvalidBatchError)
    assert.deepEqual(readdirSync(join(folder.path, '.incoming')), [])
  })

  it('because their source fails leave nothing, and the error is that of the source', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    async function* failing(): AsyncGenerator<EncodedTick> {
      yield* ticksOf([1, 2])
      throw new InvalidBatchError('the source broke')
    }
    const batch = { runId: RUN_ID, tickStart: 1, tickEnd: 3, tickCount: 3, ticks: failing() }
    await assert.rejects(storage.writeBatch(batch), /the source broke/)
    assert.deepEqual(readdirSync(join(folder.path, '.incoming')), [])
  })
})

it('a missing file is reported as missing', async () => {
  using folder = temporaryFolder()
  const storage = await FileSystemStorage.open({ root: folder.path })
  const key = batchKey(RUN_ID, 0, 9, 'zstd')
  await assert.rejects(storage.readBatch(key), FileNotFoundError)
  await assert.rejects(storage.describeBatch(key), FileNotFoundError)
  await assert.rejects(storage.quarantine(key, 'why not'), FileNotFoundError)
  mkdirSync(join(folder.path, dirname(key)), { recursive: true })
  await assert.rejects(storage.readBatch(key), FileNotFoundError)
})

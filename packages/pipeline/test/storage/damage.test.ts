import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { batchOf, CorruptFileError, FileSystemStorage, LimitError, type SimulationMetadata } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { range, ticksOf } from './ticks.ts'

const metadata: SimulationMetadata = {
  runId: RUN_ID,
  startedAt: 1,
  seed: '42',
  samplingInterval: 1,
  environment: { shape: [10], topology: 'torus' },
  settings: '{}',
  moleculeTypes: [],
}

for (const compression of ['zstd', 'none'] as const) {
  describe(`a damaged file (${compression})`, () => {
    it('never yields a tick, whichever bit is flipped', async () => {
      await using bench = await damageBench(compression)
      for (let at = 0; at < bench.good.length; at++) {
        for (const flip of [1 << (at % 8), 0xff]) {
          const bytes = Buffer.from(bench.good)
          bytes[at] = (bytes[at] as number) ^ flip
          await bench.isRefused(bytes, `byte ${at} ^ ${flip}`)
        }
      }
    })

    it('never yields a tick, wherever it is cut', async () => {
      await using bench = await damageBench(compression)
      for (let length = 0; length < bench.good.length; length++) {
        await bench.isRefused(bench.good.subarray(0, length), `cut to ${length}`)
      }
    })

    it('never yields a tick if bytes are missing or added', async () => {
      await using bench = await damageBench(compression)
      const { good } = bench
      for (let at = 0; at < good.length; at++) {
        await bench.isRefused(Buffer.concat([good.subarray(0, at), good.subarray(at + 1)]), `without byte ${at}`)
      }
      await bench.isRefused(Buffer.concat([good, Buffer.of(0)]), 'one more byte')
      await bench.isRefused(Buffer.concat([good, good]), 'twice')
      await bench.isRefused(Buffer.alloc(good.length), 'zeros, as after a crash without fsync')
    })

    it('never yields wrong metadata either', async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path, compression })
      const { storageKey } = await storage.writeMetadata(metadata)
      const file = join(folder.path, storageKey)
      const good = readFileSync(file)
      for (let at = 0; at < good.length; at++) {
        const bytes = Buffer.from(good)
        bytes[at] = (bytes[at] as number) ^ 0x10
        writeFileSync(file, bytes)
        await assert.rejects(storage.readMetadata(RUN_ID), CorruptFileError, `byte ${at}`)
      }
      writeFileSync(file, good)
      assert.deepEqual(await storage.readMetadata(RUN_ID), metadata)
    })
  })
}

it("another batch's complete file under this batch's name is refused", async () => {
  using folder = temporaryFolder()
  const storage = await FileSystemStorage.open({ root: folder.path })
  const one = await storage.writeBatch(batchOf(ticksOf([1, 2])))
  const other = await storage.writeBatch(batchOf(ticksOf([3, 4])))
  writeFileSync(join(folder.path, one.storageKey), readFileSync(join(folder.path, other.storageKey)))
  await assert.rejects(storage.readBatch(one.storageKey), /holds another file's content/)
  await assert.rejects(storage.describeBatch(one.storageKey), /holds another file's content/)
})

it('an error names the file', async () => {
  using folder = temporaryFolder()
  const storage = await FileSystemStorage.open({ root: folder.path })
  const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2])))
  const file = join(folder.path, storageKey)
  appendFileSync(file, 'x')
  await assert.rejects(storage.readBatch(storageKey), error => error instanceof CorruptFileError && error.file === file)
  await assert.rejects(storage.readBatch(storageKey), { message: new RegExp(storageKey) })
})

describe('a file that exceeds a limit', () => {
  it('is refused by its decompressed size', async () => {
    using folder = temporaryFolder()
    const generous = await FileSystemStorage.open({ root: folder.path })
    const ticks = ticksOf(range(0, 20), { genomeBytes: 1_000_000 })
    const { storageKey, bytes } = await generous.writeBatch(batchOf(ticks))
    assert.ok(bytes < 100_000, 'twenty megabytes that take little room')
    const strict = await FileSystemStorage.open({ root: folder.path, maxFileBytes: 5_000_000 })
    await assert.rejects(strict.readBatch(storageKey), isLimit('maxFileBytes'))
    let handedOut = 0
    await assert.rejects(async () => {
      for await (const { bytes } of strict.readTicks(storageKey)) handedOut += bytes.length
    }, isLimit('maxFileBytes'))
    assert.ok(handedOut <= 5_000_000)
  })

  it('is refused by the size of a tick, on reading and writing', async () => {
    using folder = temporaryFolder()
    const generous = await FileSystemStorage.open({ root: folder.path })
    const batch = batchOf(ticksOf([1, 2], { genomeBytes: 100_000 }))
    const { storageKey } = await generous.writeBatch(batch)
    const strict = await FileSystemStorage.open({ root: folder.path, maxTickBytes: 50_000 })
    await assert.rejects(strict.readBatch(storageKey), isLimit('maxTickBytes'))
    await assert.rejects(strict.writeBatch(batch), isLimit('maxTickBytes'))
  })

  it('is refused by the memory limit', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf(range(0, 10), { genomeBytes: 1_000 })))
    await assert.rejects(storage.readBatch(storageKey, { maxBytes: 5_000 }), isLimit('maxBytes'))
    assert.equal((await storage.readBatch(storageKey, { maxBytes: 20_000 })).length, 10)
  })
})

const isLimit = (name: string) => (error: unknown) => error instanceof LimitError && error.limit === name

type DamageBench = AsyncDisposable & { good: Buffer; isRefused(bytes: Buffer, how: string): Promise<void> }

/** A small good file, in whose place others are put. Checks at the end that the good one is still read. */
async function damageBench(compression: 'none' | 'zstd'): Promise<DamageBench> {
  const folder = temporaryFolder()
  const storage = await FileSystemStorage.open({ root: folder.path, compression })
  const ticks = ticksOf([10, 20, 30])
  const { storageKey } = await storage.writeBatch(batchOf(ticks))
  const file = join(folder.path, storageKey)
  const good = readFileSync(file)
  return {
    good,
    async isRefused(bytes, how) {
      writeFileSync(file, bytes)
      let handedOut = 0
      const reading = async (): Promise<void> => {
        for await (const _tick of storage.readTicks(storageKey)) handedOut++
      }
      await assert.rejects(reading, error => error instanceof CorruptFileError && error.file === file, how)
      assert.equal(handedOut, 0, `${how}: nothing of it`)
      await assert.rejects(storage.describeBatch(storageKey), CorruptFileError, how)
    },
    async [Symbol.asyncDispose]() {
      writeFileSync(file, good)
      assert.deepEqual(await storage.readBatch(storageKey), ticks)
      folder[Symbol.dispose]()
    },
  }
}

/** What every storage does, in a folder and in a bucket of a real S3 server alike. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  type BatchQuery,
  type BatchRef,
  BatchRemovedError,
  batchKey,
  batchOf,
  ConflictError,
  CorruptFileError,
  type EncodedTick,
  FileNotFoundError,
  InvalidBatchError,
  type ManagedStorage,
  makeRunId,
  type SimulationMetadata,
} from '../../src/index.ts'
// Inside: up to which tick the storage is whole, which no command prints.
import { StoredRanges } from '../../src/services/stored-ranges.ts'
import { type Kind, PLACES, type Place } from './places.ts'
import { range, ticksOf } from './ticks.ts'

const metadataOf = (runId: string): SimulationMetadata => ({
  runId,
  startedAt: 1,
  seed: '42',
  samplingInterval: 10,
  environment: { shape: [10, 10], topology: 'bounded' },
  settings: '{"a":1}',
  moleculeTypes: ['empty', 'energy'],
})

type Bench = { readonly place: Place; readonly storage: ManagedStorage; readonly run: string }

function onEach(title: string, work: (bench: Bench) => Promise<void>): void {
  for (const kind of PLACES) {
    it(`${title} (${kind.name})`, { skip: kind.skip }, async () => await on(kind, work))
  }
}

async function on(kind: Kind, work: (bench: Bench) => Promise<void>): Promise<void> {
  await using place = await kind.make()
  await work({ place, storage: await place.open(), run: makeRunId() })
}

const startsIn = async (storage: ManagedStorage, query: BatchQuery): Promise<number[]> =>
  (await storage.listBatches(query)).items.map(({ tickStart }) => tickStart)

describe('a batch', () => {
  onEach('is read back as written, and describes itself', async ({ storage, place, run }) => {
    const ticks = ticksOf(range(123_456_780, 25, 10), { runId: run })
    const { bytes, alreadyStored, writtenAt, ...info } = await storage.writeBatch(batchOf(ticks))
    assert.equal(info.storageKey, `${run}/raw/001/234/batch_0000000000123456780_0000000000123457020.pb.zst`)
    assert.equal(alreadyStored, false)
    assert.equal((await place.read(info.storageKey))?.length, bytes)
    assert.deepEqual(await storage.readBatch(info.storageKey), ticks)
    const described = await storage.describeBatch(info.storageKey)
    assert.deepEqual({ ...described, writtenAt: 0 }, { ...info, writtenAt: 0 })
    for (const at of [described.writtenAt, await storage.writtenAt(info.storageKey)]) {
      assert.ok(Math.abs((at ?? 0) - writtenAt) < 60_000)
    }
  })

  onEach('larger than what is read at once is read in pieces', async ({ storage, run }) => {
    const ticks = ticksOf(range(0, 18), { runId: run, genomeBytes: 1_000_000, isRandom: true })
    const { storageKey, bytes } = await storage.writeBatch(batchOf(ticks))
    assert.ok(bytes > 17_000_000, `${bytes} bytes are more than two pieces`)
    for await (const tick of storage.readTicks(storageKey)) if (tick.tick === 3) break
    const read = await storage.readBatch(storageKey)
    assert.equal(read.length, ticks.length)
    assert.ok(read.every(({ bytes: each }, slot) => Buffer.compare(each, ticks[slot]?.bytes ?? each.subarray(1)) === 0))
  })

  onEach('written again is the same batch; with other ticks it is a conflict', async ({ storage, run }) => {
    const first = await storage.writeBatch(batchOf(ticksOf([1, 2, 3], { runId: run })))
    const again = await storage.writeBatch(batchOf(ticksOf([1, 2, 3], { runId: run })))
    assert.deepEqual([again.alreadyStored, again.storageKey], [true, first.storageKey])
    await assert.rejects(storage.writeBatch(batchOf(ticksOf([1, 3], { runId: run }))), ConflictError)
    assert.equal((await storage.readBatch(first.storageKey)).length, 3)
    assert.deepEqual(await startsIn(storage, { prefix: `${run}/` }), [1])
  })

  onEach('that was never stored is missing', async ({ storage, run }) => {
    const key = batchKey(run, 0, 9, 'zstd')
    await assert.rejects(storage.readBatch(key), FileNotFoundError)
    await assert.rejects(storage.describeBatch(key), FileNotFoundError)
    await assert.rejects(storage.quarantine(key, 'why not'), FileNotFoundError)
    assert.equal(await storage.writtenAt(key), null)
  })

  onEach('whose source fails leaves nothing', async ({ storage, run }) => {
    async function* failing(): AsyncGenerator<EncodedTick> {
      yield* ticksOf([1, 2], { runId: run })
      throw new InvalidBatchError('the source broke')
    }
    const batch = { runId: run, tickStart: 1, tickEnd: 3, tickCount: 3, ticks: failing() }
    await assert.rejects(storage.writeBatch(batch), /the source broke/)
    assert.deepEqual(await startsIn(storage, { prefix: `${run}/` }), [])
  })
})

describe('a damaged batch', () => {
  onEach('is refused, wherever it is cut or changed', async ({ storage, place, run }) => {
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2], { runId: run })))
    const good = (await place.read(storageKey)) ?? Buffer.alloc(0)
    const cuts = [0, 1, 5, 6, 16, good.length - 17, good.length - 16, good.length - 1].map(end => good.subarray(0, end))
    const changed = range(0, 8).map(part => {
      const bytes = Buffer.from(good)
      const at = Math.floor((part * good.length) / 8)
      bytes[at] = (bytes[at] as number) ^ 0x10
      return bytes
    })
    const foreign = [Buffer.from('<html>not a batch</html>'), Buffer.concat([good, good])]
    for (const bytes of [...cuts, ...changed, ...foreign]) {
      await place.write(storageKey, bytes)
      await assert.rejects(storage.readBatch(storageKey), CorruptFileError, `${bytes.length} of ${good.length} bytes`)
    }
    await place.write(storageKey, good)
    assert.equal((await storage.readBatch(storageKey)).length, 2)
  })

  onEach('is replaced when it is written again, and kept in quarantine', async ({ storage, place, run }) => {
    const ticks = ticksOf([1, 2, 3], { runId: run })
    const { storageKey } = await storage.writeBatch(batchOf(ticks))
    const broken = (await place.read(storageKey))?.subarray(0, 50) ?? Buffer.alloc(0)
    await place.write(storageKey, broken)
    assert.equal((await storage.writeBatch(batchOf(ticks))).alreadyStored, false)
    assert.deepEqual(await storage.readBatch(storageKey), ticks)
    const [quarantined] = await storage.listQuarantined(run)
    assert.equal(quarantined?.key, storageKey)
    assert.deepEqual(await place.readPath(quarantined?.path ?? ''), broken)
  })
})

describe('metadata', () => {
  onEach('are read back; others are a conflict; broken ones are refused', async ({ storage, place, run }) => {
    const metadata = metadataOf(run)
    assert.equal(await storage.readMetadata(run), null)
    assert.equal(await storage.describeMetadata(run), null)
    const { storageKey } = await storage.writeMetadata(metadata)
    await storage.writeMetadata(metadata)
    await assert.rejects(storage.writeMetadata({ ...metadata, seed: '43' }), ConflictError)
    assert.deepEqual(await storage.readMetadata(run), metadata)
    assert.equal((await storage.describeMetadata(run))?.storageKey, storageKey)
    assert.deepEqual(await startsIn(storage, { prefix: `${run}/` }), [])
    await place.write(storageKey, ((await place.read(storageKey)) ?? Buffer.alloc(0)).subarray(0, -1))
    await assert.rejects(storage.readMetadata(run), CorruptFileError)
    await storage.quarantine(storageKey, 'cut')
    assert.equal(await storage.readMetadata(run), null)
  })
})

describe('quarantine', () => {
  onEach('keeps every file with its reason, and frees the key', async ({ storage, place, run }) => {
    const moved = []
    for (const reason of ['first', 'It looks odd "to me"\n', 'third']) {
      const ticks = ticksOf([1, 2], { runId: run, genomeBytes: 10 * (moved.length + 1) })
      const { storageKey } = await storage.writeBatch(batchOf(ticks))
      const content = await place.read(storageKey)
      const file = await storage.quarantine(storageKey, reason)
      assert.deepEqual(await place.readPath(file.path), content)
      assert.deepEqual([file.key, file.reason], [storageKey, reason])
      await assert.rejects(storage.readBatch(storageKey), FileNotFoundError)
      moved.push(file)
    }
    assert.deepEqual(await storage.listQuarantined(run), moved)
    assert.equal(new Set(moved.map(({ path }) => path)).size, 3)
    assert.deepEqual(await startsIn(storage, { prefix: `${run}/` }), [])
  })

  onEach('by two at the same time leaves one file, and what is stored next', async ({ storage, place, run }) => {
    const ticks = ticksOf([1, 2, 3], { runId: run })
    const { storageKey } = await storage.writeBatch(batchOf(ticks))
    await place.write(storageKey, 'broken')
    const two = await place.open()
    const [one, other, stored] = await Promise.allSettled([
      storage.quarantine(storageKey, 'one'),
      two.quarantine(storageKey, 'two'),
      (await place.open()).writeBatch(batchOf(ticks)),
    ])
    assert.ok(one.status === 'fulfilled' || other.status === 'fulfilled' || stored.status === 'fulfilled')
    await storage.writeBatch(batchOf(ticks))
    assert.deepEqual(await storage.readBatch(storageKey), ticks)
  })
})

describe('a listing', () => {
  onEach('is in the order of ticks, page by page, and has only batches', async ({ storage, place, run }) => {
    const starts = [100_000_000_000, 0, 99_999_999, 100_000, 99_900_000_000, 100_000_000]
    for (const start of starts) await place.write(batchKey(run, start, start, 'zstd'), '')
    const foreign = [
      'raw/notes.txt',
      'raw/000/000/batch_1_2.pb',
      'raw/000/001/.x.tmp',
      'raw/abc/x',
      'raw/000/000/a b&<c>%',
    ]
    const misplaced = 'raw/000/000/batch_0000000000000200000_0000000000000200001.pb'
    for (const name of [...foreign, misplaced]) await place.write(`${run}/${name}`, 'foreign')
    const sorted = starts.toSorted((a, b) => a - b)
    assert.deepEqual(await startsIn(storage, { prefix: `${run}/` }), sorted)
    const pages: number[][] = []
    for (let after: string | null = ''; after !== null; ) {
      const page = await storage.listBatches({ prefix: `${run}/`, limit: 4, ...(after !== '' && { after }) })
      pages.push(page.items.map(({ tickStart }) => tickStart))
      after = page.next
    }
    assert.deepEqual(pages, [sorted.slice(0, 4), sorted.slice(4)])
    assert.deepEqual(await storage.listBatches({ prefix: `${makeRunId()}/` }), { items: [], next: null })
  })

  onEach(
    'of a range has the batch in which it begins, however far back that began',
    async ({ storage, place, run }) => {
      const long = { start: 99_990_000, end: 399_989_999 }
      for (const [start, end] of [
        [0, 99],
        [long.start, long.end],
        [399_990_000, 399_990_009],
      ] as const) {
        await place.write(batchKey(run, start, end, 'zstd'), '')
      }
      const listed = async (fromTick: number, toTick: number, more: Partial<BatchQuery> = {}): Promise<number[]> =>
        await startsIn(storage, { prefix: `${run}/`, fromTick, toTick, ...more })
      assert.deepEqual(await listed(50, 60), [0])
      assert.deepEqual(await listed(99, 99_989_999), [0])
      assert.deepEqual(await listed(100, 99_989_999), [])
      assert.deepEqual(await listed(200_000_000, 200_000_001), [long.start])
      assert.deepEqual(await listed(399_989_999, 500_000_000), [long.start, 399_990_000])
      const after = batchKey(run, long.start, long.end, 'zstd')
      assert.deepEqual(await listed(399_989_999, 500_000_000, { after }), [399_990_000])
      assert.deepEqual(await listed(399_990_000, 500_000_000), [399_990_000])
    },
  )

  onEach('matches a simple model', async ({ storage, place }) => {
    const tick = fc.oneof(
      fc.integer({ min: 0, max: 400_000 }),
      fc.constantFrom(0, 99_999, 100_000, 99_999_999, 100_000_000, 100_100_000, 99_999_999_999, 100_000_000_000),
    )
    const run = makeRunId()
    const refs: BatchRef[] = []
    const sizes = [1, 10, 90_000, 300_000]
    for (const start of [
      0, 100, 99_990, 190_000, 400_000, 99_900_000, 100_000_000, 100_100_000, 99_999_900_000, 100_000_000_000,
    ]) {
      const tickEnd = start + (sizes[refs.length % 4] ?? 1) - 1
      const last = refs.at(-1)
      if (last !== undefined && last.tickEnd >= start) continue
      const key = batchKey(run, start, tickEnd, 'zstd')
      await place.write(key, '')
      refs.push({ key, runId: run, tickStart: start, tickEnd })
    }
    const prefixes = ['', 'ra', 'raw/', 'raw/000/', 'raw/00', 'raw/000/001/', 'raw/000/000/batch_00000000000000']
    const queries = fc.record({ fromTick: tick, toTick: tick, prefix: fc.constantFrom(...prefixes) })
    await fc.assert(
      fc.asyncProperty(queries, async ({ fromTick, toTick, prefix: part }) => {
        const prefix = `${run}/${part}`
        const expected = refs.filter(
          ({ key, tickStart, tickEnd }) => key.startsWith(prefix) && tickEnd >= fromTick && tickStart <= toTick,
        )
        assert.deepEqual((await storage.listBatches({ prefix, fromTick, toTick })).items, expected)
      }),
      { numRuns: 25 },
    )
  })

  onEach('of runs is by their start, page by page, and has only runs', async ({ storage, place }) => {
    const runs = [3, 1, 2, 5, 4].map(day => makeRunId(Date.UTC(2025, 0, day)))
    for (const runId of runs) await storage.writeBatch(batchOf(ticksOf([1], { runId })))
    await place.write('lost+found/x', '')
    const first = await storage.listRuns({ limit: 3 })
    assert.deepEqual(first.items, runs.toSorted().slice(0, 3))
    const second = await storage.listRuns({ limit: 3, after: first.next ?? '' })
    assert.deepEqual(second, { items: runs.toSorted().slice(3), next: null })
  })
})

describe('removing', () => {
  onEach('batches leaves those outside the range, and remembers the others', async ({ storage, run }) => {
    for (const first of [0, 5, 10]) await storage.writeBatch(batchOf(ticksOf(range(first, 5), { runId: run })))
    const { batches, bytes } = await storage.removeBatches(run, { tickStart: 0, tickEnd: 11 })
    assert.equal(batches, 2)
    assert.ok(bytes > 0)
    assert.deepEqual(await startsIn(storage, { prefix: `${run}/` }), [10])
    await assert.rejects(storage.readBatch(batchKey(run, 0, 4, 'zstd')), BatchRemovedError)
    await assert.rejects(storage.readBatch(batchKey(run, 20, 24, 'zstd')), (error: unknown) => {
      return error instanceof FileNotFoundError && !(error instanceof BatchRemovedError)
    })
    const stored = await StoredRanges.of(storage, run, 1)
    assert.deepEqual([stored.wholeUpTo, stored.has(0), stored.has(15)], [14, true, false])
  })

  onEach('that was interrupted at its start is finished by the next call', async ({ storage, place, run }) => {
    for (const first of [0, 5]) await storage.writeBatch(batchOf(ticksOf(range(first, 5), { runId: run })))
    await place.write(`${run}/raw/removed/${'0'.padStart(19, '0')}_${'4'.padStart(19, '0')}`, '')
    assert.equal((await storage.readBatch(batchKey(run, 0, 4, 'zstd'))).length, 5)
    assert.equal((await storage.removeBatches(run, { tickStart: 0, tickEnd: 4 })).batches, 1)
    assert.deepEqual(await startsIn(storage, { prefix: `${run}/` }), [5])
  })

  onEach('batches by two at the same time loses no range', async ({ storage, place, run }) => {
    const firsts = range(0, 6, 5)
    for (const first of firsts) await storage.writeBatch(batchOf(ticksOf(range(first, 5), { runId: run })))
    const two = await place.open()
    await Promise.all(
      firsts.flatMap(first => [
        storage.removeBatches(run, { tickStart: 0, tickEnd: first + 4 }),
        two.removeBatches(run, { tickStart: first, tickEnd: first + 4 }),
      ]),
    )
    assert.deepEqual(await startsIn(storage, { prefix: `${run}/` }), [])
    assert.deepEqual(await two.removedRanges(run), [{ tickStart: 0, tickEnd: 29 }])
  })

  onEach('a run leaves nothing of it, and the others', async ({ storage, run }) => {
    const other = makeRunId()
    for (const runId of [run, other]) {
      await storage.writeMetadata(metadataOf(runId))
      await storage.writeBatch(batchOf(ticksOf([1], { runId })))
    }
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([2], { runId: run })))
    await storage.quarantine(storageKey, 'why not')
    const size = await storage.sizeOfRun(run)
    assert.equal(size?.files, 4)
    assert.ok((size?.bytes ?? 0) > 100)
    assert.equal(await storage.removeRun(run), true)
    assert.equal(await storage.removeRun(run), false)
    assert.equal(await storage.sizeOfRun(run), null)
    assert.deepEqual((await storage.listRuns()).items, [other])
  })
})

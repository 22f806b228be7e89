import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ConfigError } from 'tidemark'
import { temporaryFolder } from '../../../../testing/folders.ts'
import {
  type BatchQuery,
  type BatchRef,
  batchKey,
  batchOf,
  FileSystemStorage,
  makeRunId,
  OutsideRootError,
} from '../../src/index.ts'
import { plainRecord, RUN_ID } from '../arbitraries.ts'
import { ticksOf } from './ticks.ts'

const OTHER_RUN = makeRunId()

describe('a listing', () => {
  it('matches a simple model, page by page', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(batchArbitrary, { maxLength: 25 }), queryArbitrary, async (batches, query) => {
        using folder = temporaryFolder()
        const storage = await FileSystemStorage.open({ root: folder.path })
        const refs = place(folder.path, withoutOverlaps(batches))
        const { limit, ...rest } = query
        assert.deepEqual(await allPages(storage, { ...rest, limit }), model(refs, query))
      }),
      { numRuns: 60 },
    )
  })

  it('is in the order of ticks, not of names', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const starts = [100_000_000_000, 0, 99_999_999, 100_000, 99_900_000_000, 100_000_000]
    place(
      folder.path,
      starts.map(start => ({ runId: RUN_ID, tickStart: start, ticks: 1, compression: 'zstd' })),
    )
    const { items } = await storage.listBatches({ prefix: `${RUN_ID}/` })
    assert.deepEqual(
      items.map(item => item.tickStart),
      starts.toSorted((a, b) => a - b),
    )
  })

  it('has what was written, and only batches', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2])))
    const leaf = join(folder.path, dirname(storageKey))
    const raw = join(folder.path, RUN_ID, 'raw')
    for (const name of ['notes.txt', 'batch_1_2.pb', 'batch_0000000000000200000_0000000000000200001.pb', '.x.tmp']) {
      writeFileSync(join(leaf, name), '')
    }
    for (const name of ['0', '0000', 'abc', '-01', '1e3']) mkdirSync(join(raw, name))
    writeFileSync(join(raw, '001'), 'a file where a folder could be')
    const page = await storage.listBatches({ prefix: `${RUN_ID}/` })
    assert.deepEqual(page, { items: [{ key: storageKey, runId: RUN_ID, tickStart: 1, tickEnd: 2 }], next: null })
  })

  it('of a missing run is empty', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    assert.deepEqual(await storage.listBatches({ prefix: `${RUN_ID}/` }), { items: [], next: null })
  })

  it('of a range reads only the folders of that range, and the one of the batch before it', async () => {
    using folder = temporaryFolder()
    using outside = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const starts = [100_000, 300_000, 50_000_000, 200_000_000]
    place(
      folder.path,
      starts.map(tickStart => ({ runId: RUN_ID, tickStart, ticks: 1, compression: 'zstd' })),
    )
    // Whoever looks into one of these gets an error.
    for (const name of ['000/000', '000/002', '001', '003']) {
      symlinkSync(outside.path, join(folder.path, RUN_ID, 'raw', name))
    }
    const count = async (query: Partial<BatchQuery>): Promise<number> =>
      (await storage.listBatches({ prefix: `${RUN_ID}/`, ...query })).items.length
    assert.equal(await count({ fromTick: 100_001, toTick: 199_999 }), 0)
    assert.equal(await count({ fromTick: 400_000, toTick: 99_999_999 }), 1)
    assert.equal(await count({ prefix: `${RUN_ID}/raw/002/`, toTick: 299_999_999 }), 1)
    const first = batchKey(RUN_ID, 100_000, 100_000, 'zstd')
    assert.equal(await count({ after: first, toTick: 199_999 }), 0)
    assert.equal(await count({ fromTick: 300_001, limit: 1, toTick: 99_999_999 }), 1)
    await assert.rejects(count({}), OutsideRootError)
  })

  it('of a range that begins inside a batch has that batch, however far back it began', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const [first, long, next] = place(folder.path, [
      { runId: RUN_ID, tickStart: 0, ticks: 100, compression: 'zstd' },
      { runId: RUN_ID, tickStart: 99_990_000, ticks: 300_000_000, compression: 'zstd' },
      { runId: RUN_ID, tickStart: 399_990_000, ticks: 10, compression: 'none' },
    ])
    const listed = async (fromTick: number, toTick: number, more: Partial<BatchQuery> = {}): Promise<BatchRef[]> => [
      ...(await storage.listBatches({ prefix: `${RUN_ID}/`, fromTick, toTick, ...more })).items,
    ]
    assert.deepEqual(await listed(50, 60), [first])
    assert.deepEqual(await listed(99, 99_989_999), [first])
    assert.deepEqual(await listed(100, 99_989_999), [])
    assert.deepEqual(await listed(200_000_000, 200_000_001), [long])
    assert.deepEqual(await listed(399_989_999, 500_000_000), [long, next])
    assert.deepEqual(await listed(399_989_999, 500_000_000, { after: long?.key ?? '' }), [next])
    assert.deepEqual(await listed(399_990_000, 500_000_000), [next])
  })

  it('refuses invalid input', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const prefix = `${RUN_ID}/`
    const wrong: Record<string, BatchQuery> = {
      prefix: { prefix: RUN_ID },
      fromTick: { prefix, fromTick: -1 },
      toTick: { prefix, toTick: 1.5 },
      limit: { prefix, limit: 0 },
      after: { prefix, after: batchKey(OTHER_RUN, 0, 1, 'none') },
    }
    for (const [option, query] of Object.entries(wrong)) {
      await assert.rejects(storage.listBatches(query), error => error instanceof ConfigError && error.option === option)
    }
  })
})

describe('runs', () => {
  it('are listed by their start, page by page, and nothing else is', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const runs = [3, 1, 2, 5, 4].map(day => makeRunId(Date.UTC(2025, 0, day)))
    for (const runId of runs) await storage.writeBatch(batchOf(ticksOf([1], { runId })))
    mkdirSync(join(folder.path, 'lost+found'))
    const first = await storage.listRuns({ limit: 3 })
    assert.deepEqual(first.items, runs.toSorted().slice(0, 3))
    const second = await storage.listRuns({ limit: 3, after: first.next ?? '' })
    assert.deepEqual(second, { items: runs.toSorted().slice(3), next: null })
    assert.ok(readdirSync(folder.path).includes('.incoming'))
  })
})

type Placed = { runId: string; tickStart: number; ticks: number; compression: 'none' | 'zstd' }

const tickArbitrary = fc.oneof(
  fc.integer({ min: 0, max: 400_000 }),
  fc.constantFrom(0, 99_999, 100_000, 99_999_999, 100_000_000, 100_100_000, 99_999_999_999, 100_000_000_000),
  fc.maxSafeNat().map(tick => Math.floor(tick / 2)),
)

const batchArbitrary: fc.Arbitrary<Placed> = plainRecord<Placed>({
  runId: fc.constantFrom(RUN_ID, RUN_ID, RUN_ID, OTHER_RUN),
  tickStart: tickArbitrary,
  ticks: fc.integer({ min: 1, max: 300_000 }),
  compression: fc.constantFrom('none', 'zstd'),
})

const queryArbitrary = fc
  .record(
    {
      prefix: fc.constantFrom(
        '',
        'ra',
        'raw/',
        'raw/000/',
        'raw/00',
        'raw/000/001/',
        'raw/000/000/batch_00000000000000',
      ),
      fromTick: tickArbitrary,
      toTick: tickArbitrary,
      limit: fc.integer({ min: 1, max: 7 }),
    },
    { requiredKeys: ['prefix', 'limit'], noNullPrototype: true },
  )
  .map(query => ({ ...query, prefix: `${RUN_ID}/${query.prefix}` }))

/** As they are stored: the next one begins after the end of the one before. */
function withoutOverlaps(batches: readonly Placed[]): Placed[] {
  const placed: Placed[] = []
  for (const batch of batches.toSorted((a, b) => a.tickStart - b.tickStart)) {
    const before = placed.findLast(({ runId }) => runId === batch.runId)
    if (before === undefined || before.tickStart + before.ticks <= batch.tickStart) placed.push(batch)
  }
  return placed
}

/** Empty files under the batches' names: a listing looks at names only. */
function place(root: string, batches: readonly Placed[]): BatchRef[] {
  const refs = new Map<string, BatchRef>()
  for (const { runId, tickStart, ticks, compression } of batches) {
    const tickEnd = tickStart + ticks - 1
    const key = batchKey(runId, tickStart, tickEnd, compression)
    mkdirSync(join(root, dirname(key)), { recursive: true })
    writeFileSync(join(root, key), '')
    refs.set(key, { key, runId, tickStart, tickEnd })
  }
  return [...refs.values()]
}

function model(
  refs: readonly BatchRef[],
  { prefix, fromTick = 0, toTick = Number.MAX_SAFE_INTEGER }: BatchQuery,
): BatchRef[] {
  return refs
    .filter(ref => ref.key.startsWith(prefix) && ref.tickEnd >= fromTick && ref.tickStart <= toTick)
    .sort((a, b) => a.tickStart - b.tickStart || a.tickEnd - b.tickEnd || (a.key < b.key ? -1 : 1))
}

async function allPages(storage: FileSystemStorage, query: BatchQuery): Promise<BatchRef[]> {
  const all: BatchRef[] = []
  let after: string | undefined
  for (;;) {
    const { items, next } = await storage.listBatches({ ...query, ...(after !== undefined && { after }) })
    assert.ok(items.length <= (query.limit ?? 0))
    all.push(...items)
    if (next === null) return all
    assert.ok(items.length > 0, 'a page that is not the last has something')
    after = next
  }
}

import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import {
  batchOf,
  ConflictError,
  CorruptFileError,
  FileNotFoundError,
  FileSystemStorage,
  type SimulationMetadata,
  StorageError,
} from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { ticksOf } from './ticks.ts'

const metadata: SimulationMetadata = {
  runId: RUN_ID,
  startedAt: 1,
  seed: '42',
  samplingInterval: 10,
  environment: { shape: [10, 10], topology: 'bounded' },
  settings: '{"a":1}',
  moleculeTypes: ['empty', 'energy'],
}

describe('metadata', () => {
  for (const compression of ['none', 'zstd'] as const) {
    it(`are read back as they were written (${compression}), by either kind of storage`, async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path, compression })
      assert.equal(await storage.readMetadata(RUN_ID), null)
      const { storageKey } = await storage.writeMetadata(metadata)
      assert.equal(storageKey, `${RUN_ID}/raw/metadata.pb${compression === 'zstd' ? '.zst' : ''}`)
      const other = await FileSystemStorage.open({ root: folder.path })
      assert.deepEqual(await other.readMetadata(RUN_ID), metadata)
      assert.deepEqual((await storage.listBatches({ prefix: `${RUN_ID}/` })).items, [])
    })

    it(`say where and when they were written, after they are verified (${compression})`, async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path, compression })
      assert.equal(await storage.describeMetadata(RUN_ID), null)
      const { storageKey } = await storage.writeMetadata(metadata)
      const path = join(folder.path, storageKey)
      const writtenAt = Math.floor(statSync(path).mtimeMs)
      assert.deepEqual(await storage.describeMetadata(RUN_ID), { runId: RUN_ID, storageKey, writtenAt })
      writeFileSync(path, readFileSync(path).subarray(0, -1))
      await assert.rejects(storage.describeMetadata(RUN_ID), CorruptFileError)
    })
  }

  it('written again are the same; others are a conflict', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    await storage.writeMetadata(metadata)
    await storage.writeMetadata(metadata)
    await assert.rejects(storage.writeMetadata({ ...metadata, seed: '43' }), ConflictError)
    assert.deepEqual(await storage.readMetadata(RUN_ID), metadata)
  })
})

describe('a file in quarantine', () => {
  it('is where it can be found, with the reason, and no longer where it was', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2])))
    const content = readFileSync(join(folder.path, storageKey))
    const moved = await storage.quarantine(storageKey, 'It looks odd "to me"\n')
    assert.deepEqual(await storage.listQuarantined(RUN_ID), [moved])
    assert.equal(moved.reason, 'It looks odd "to me"\n')
    assert.equal(moved.key, storageKey)
    assert.deepEqual(readFileSync(moved.path), content)
    await assert.rejects(storage.readBatch(storageKey), FileNotFoundError)
    assert.deepEqual((await storage.listBatches({ prefix: `${RUN_ID}/` })).items, [])
  })

  it('never replaces another', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const paths = new Set<string>()
    for (const reason of ['first', 'second', 'third']) {
      const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2])))
      paths.add((await storage.quarantine(storageKey, reason)).path)
    }
    assert.equal(paths.size, 3)
    const reasons = (await storage.listQuarantined(RUN_ID)).map(file => file.reason)
    assert.deepEqual(reasons, ['first', 'second', 'third'])
    for (const path of paths) assert.ok(existsSync(path))
  })

  it('can be metadata too', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const { storageKey } = await storage.writeMetadata(metadata)
    await storage.quarantine(storageKey, 'why not')
    assert.equal(await storage.readMetadata(RUN_ID), null)
  })

  it('that was never moved, because the process died before, is not listed', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2])))
    const { path } = await storage.quarantine(storageKey, 'why not')
    rmSync(path)
    assert.deepEqual(await storage.listQuarantined(RUN_ID), [])
    await storage.writeBatch(batchOf(ticksOf([1, 2])))
    await storage.quarantine(storageKey, 'again')
    assert.deepEqual(
      (await storage.listQuarantined(RUN_ID)).map(file => file.reason),
      ['again'],
    )
  })

  it('whose reason is lost is an error that names it', async () => {
    using folder = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2])))
    const { path } = await storage.quarantine(storageKey, 'why not')
    writeFileSync(`${path}.reason.json`, '')
    await assert.rejects(storage.listQuarantined(RUN_ID), error => error instanceof StorageError && error.file === path)
  })
})

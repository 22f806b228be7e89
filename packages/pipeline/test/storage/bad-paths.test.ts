import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError } from 'tidemark'
import { temporaryFolder } from '../../../../testing/folders.ts'
import {
  batchKey,
  batchOf,
  FileSystemStorage,
  type FileSystemStorageOptions,
  InvalidKeyError,
  InvalidRunIdError,
  OutsideRootError,
  StorageError,
} from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { ticksOf } from './ticks.ts'

const NAME = 'batch_0000000000000000001_0000000000000000003.pb.zst'

describe('a key', () => {
  const wrong = [
    '',
    '/',
    '..',
    '/etc/passwd',
    `${RUN_ID}/raw/000/000/../../../../etc/passwd`,
    `../${RUN_ID}/raw/000/000/${NAME}`,
    `${RUN_ID}/raw/../raw/000/000/${NAME}`,
    `${RUN_ID}/raw/000/000/${NAME}/`,
    `${RUN_ID}/raw/000/000//${NAME}`,
    `${RUN_ID}/raw/000/001/${NAME}`,
    `${RUN_ID}/raw/0/0/${NAME}`,
    `${RUN_ID}/raw/000/000/batch_1_3.pb`,
    `${RUN_ID}/raw/000/000/batch_0000000000000000003_0000000000000000001.pb`,
    `${RUN_ID}/raw/000/000/batch_9999999999999999999_9999999999999999999.pb`,
    `${RUN_ID}/raw/000/000/${NAME}\0`,
    `${RUN_ID}/raw/000/000/${NAME}.tmp`,
    `${RUN_ID}\\raw\\000\\000\\${NAME}`,
    `run/raw/000/000/${NAME}`,
    `${RUN_ID}/quarantine/${NAME}`,
    null,
    undefined,
    { toString: () => `${RUN_ID}/raw/000/000/${NAME}` },
  ]
  for (const key of wrong) {
    it(`is not ${JSON.stringify(key)}`, async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path })
      await assert.rejects(storage.readBatch(key as string), InvalidKeyError)
      await assert.rejects(storage.describeBatch(key as string), InvalidKeyError)
      await assert.rejects(storage.quarantine(key as string, 'why not'), InvalidKeyError)
      if (key === undefined) return
      await assert.rejects(storage.listBatches({ prefix: `${RUN_ID}/`, after: key as string }), InvalidKeyError)
    })
  }
})

describe('a run id', () => {
  for (const runId of ['..', '../x', '/etc', '.incoming', `${RUN_ID}/..`, '']) {
    it(`is not ${JSON.stringify(runId)}`, async () => {
      using folder = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path })
      await assert.rejects(storage.readMetadata(runId), InvalidRunIdError)
      await assert.rejects(storage.listQuarantined(runId), InvalidRunIdError)
      await assert.rejects(async () => storage.writeBatch({ ...batchOf(ticksOf([1])), runId }), InvalidRunIdError)
      if (runId.startsWith(RUN_ID)) assert.deepEqual((await storage.listBatches({ prefix: `${runId}/` })).items, [])
      else await assert.rejects(storage.listBatches({ prefix: `${runId}/` }), ConfigError)
    })
  }
})

describe('a symbolic link out of the root', () => {
  const places = [RUN_ID, `${RUN_ID}/raw`, `${RUN_ID}/raw/000`, `${RUN_ID}/raw/000/000`]
  for (const place of places) {
    it(`at ${place.replace(RUN_ID, '{run}')} is followed neither to read, nor to list, nor to write`, async () => {
      using folder = temporaryFolder()
      using outside = temporaryFolder()
      const storage = await FileSystemStorage.open({ root: folder.path })
      const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2, 3])))
      moveAndLink(join(folder.path, place), join(outside.path, 'moved'))
      await assert.rejects(storage.readBatch(storageKey), OutsideRootError)
      await assert.rejects(storage.describeBatch(storageKey), OutsideRootError)
      await assert.rejects(storage.listBatches({ prefix: `${RUN_ID}/` }), OutsideRootError)
      await assert.rejects(storage.quarantine(storageKey, 'why not'), OutsideRootError)
      const before = readdirSync(outside.path, { recursive: true })
      await assert.rejects(storage.writeBatch(batchOf(ticksOf([4, 5]))), OutsideRootError)
      assert.deepEqual(readdirSync(outside.path, { recursive: true }), before, 'nothing was made there')
    })
  }

  it('in place of a file is not read', async () => {
    using folder = temporaryFolder()
    using outside = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2, 3])))
    moveAndLink(join(folder.path, storageKey), join(outside.path, 'moved'))
    await assert.rejects(storage.readBatch(storageKey), OutsideRootError)
    await assert.rejects(storage.quarantine(storageKey, 'why not'), OutsideRootError)
    assert.ok(existsSync(join(outside.path, 'moved')))
  })

  it('in place of the folder for quarantine is not written through', async () => {
    using folder = temporaryFolder()
    using outside = temporaryFolder()
    const storage = await FileSystemStorage.open({ root: folder.path })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2, 3])))
    symlinkSync(outside.path, join(folder.path, RUN_ID, 'quarantine'))
    await assert.rejects(storage.quarantine(storageKey, 'why not'), OutsideRootError)
    await assert.rejects(storage.listQuarantined(RUN_ID), OutsideRootError)
    assert.equal((await storage.readBatch(storageKey)).length, 3)
  })

  it('to a neighbour whose name begins like the root is out too', async () => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'data')
    const storage = await FileSystemStorage.open({ root })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1, 2, 3])))
    mkdirSync(join(folder.path, 'data-of-others'))
    moveAndLink(join(root, RUN_ID), join(folder.path, 'data-of-others', 'run'))
    await assert.rejects(storage.readBatch(storageKey), OutsideRootError)
  })
})

describe('a root', () => {
  it('may itself be a link', async () => {
    using folder = temporaryFolder()
    mkdirSync(join(folder.path, 'real'))
    symlinkSync(join(folder.path, 'real'), join(folder.path, 'link'))
    const storage = await FileSystemStorage.open({ root: join(folder.path, 'link') })
    const { storageKey } = await storage.writeBatch(batchOf(ticksOf([1])))
    assert.ok(existsSync(join(folder.path, 'real', storageKey)))
    assert.equal((await storage.readBatch(storageKey)).length, 1)
  })

  it('that is a file is an error that names it', async () => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'file')
    writeFileSync(root, '')
    await assert.rejects(
      FileSystemStorage.open({ root }),
      error => error instanceof StorageError && error.file === root,
    )
  })
})

describe('an option', () => {
  const wrong: [string, object][] = [
    ['root', { root: '' }],
    ['compression', { root: 'x', compression: 'gzip' }],
    ['level', { root: 'x', level: 0 }],
    ['level', { root: 'x', level: 20 }],
    ['maxTickBytes', { root: 'x', maxTickBytes: '1' }],
    ['maxFileBytes', { root: 'x', maxFileBytes: -1 }],
    ['folder', { root: 'x', folder: 'y' }],
  ]
  for (const [name, options] of wrong) {
    it(`such as ${JSON.stringify(options)} is refused by name`, async () => {
      const opening = FileSystemStorage.open(options as FileSystemStorageOptions)
      await assert.rejects(opening, error => error instanceof ConfigError && error.option === `storage.${name}`)
    })
  }
})

it('a file where a folder should be is an error, not a loss', async () => {
  using folder = temporaryFolder()
  const storage = await FileSystemStorage.open({ root: folder.path })
  const key = batchKey(RUN_ID, 1, 1, 'zstd')
  mkdirSync(join(folder.path, dirname(dirname(key))), { recursive: true })
  writeFileSync(join(folder.path, dirname(key)), '')
  await assert.rejects(storage.writeBatch(batchOf(ticksOf([1]))), StorageError)
  assert.deepEqual(readdirSync(join(folder.path, '.incoming')), [])
})

function moveAndLink(from: string, to: string): void {
  renameSync(from, to)
  symlinkSync(to, from)
}

import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/folders.ts'
import { batchKey, batchOf, FileSystemStorage } from '../../src/index.ts'
import { RUN_ID } from '../arbitraries.ts'
import { range, ticksOf } from './ticks.ts'

type Sync = { readonly inode: number; readonly bytes: number; readonly hasItsName: boolean }

describe('a batch file', () => {
  it('is synced before it is renamed, and its folder after that', async t => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'storage')
    const storage = await FileSystemStorage.open({ root })
    const path = join(root, batchKey(RUN_ID, 0, 9, 'zstd'))
    const syncs: Sync[] = []
    const handle = await open(folder.path, 'r')
    const handles = Object.getPrototypeOf(handle)
    await handle.close()
    const sync = handles.sync
    t.mock.method(handles, 'sync', async function (this: typeof handle) {
      const { ino, size } = await this.stat()
      syncs.push({ inode: ino, bytes: size, hasItsName: existsSync(path) })
      await sync.call(this)
    })
    await storage.writeBatch(batchOf(ticksOf(range(0, 10), { genomeBytes: 1_000 })))
    const file = statSync(path)
    const before = syncs.findIndex(({ inode, bytes }) => inode === file.ino && bytes === file.size)
    assert.equal(syncs[before]?.hasItsName, false)
    const { ino } = statSync(dirname(path))
    assert.ok(syncs.slice(before + 1).some(({ inode, hasItsName }) => inode === ino && hasItsName))
  })
})

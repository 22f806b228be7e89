import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { FolderEntries } from '../../src/stores/sqlite/folder-entries.ts'

describe('The entries of a folder', () => {
  it('may differ until somebody accepts them, and after every change', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'file')
    const changes = [
      () => writeFileSync(path, 'one'),
      () => renameSync(path, `${path}.away`),
      () => renameSync(`${path}.away`, path),
      () => rmSync(path),
    ]
    const entries = new FolderEntries(folder.path)
    for (const change of changes) {
      change()
      assert.equal(entries.look().mayDiffer, true)
      await until(() => Date.now() - statSync(folder.path).ctimeMs > 200, { what: 'the folder to be old' })
      assert.equal(entries.look().mayDiffer, true)
      entries.look().accept()
      assert.equal(entries.look().mayDiffer, false)
    }
  })

  it('may always differ in a folder that has just changed: a second change can leave the same time', () => {
    using folder = temporaryFolder()
    const entries = new FolderEntries(folder.path)
    writeFileSync(join(folder.path, 'file'), 'one')
    entries.look().accept()
    assert.equal(entries.look().mayDiffer, true)
  })

  it('may differ if another folder has its name, or none', async () => {
    using parent = temporaryFolder()
    const path = join(parent.path, 'here')
    for (const name of ['here', 'other']) mkdirSync(join(parent.path, name))
    const old = (): boolean =>
      ['here', 'other'].every(name => Date.now() - statSync(join(parent.path, name)).ctimeMs > 200)
    await until(old, { what: 'the folders to be old' })
    const entries = new FolderEntries(path)
    entries.look().accept()
    assert.equal(entries.look().mayDiffer, false)
    renameSync(path, `${path}.away`)
    assert.equal(entries.look().mayDiffer, true)
    renameSync(join(parent.path, 'other'), path)
    assert.equal(entries.look().mayDiffer, true)
  })

  it('does not miss a change between the look and its acceptance', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'file')
    writeFileSync(path, 'one')
    await until(() => Date.now() - statSync(folder.path).ctimeMs > 200, { what: 'the folder to be old' })
    const entries = new FolderEntries(folder.path)
    const look = entries.look()
    rmSync(path)
    look.accept()
    assert.equal(entries.look().mayDiffer, true)
  })
})

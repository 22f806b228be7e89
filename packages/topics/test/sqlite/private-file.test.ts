import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { open } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { openUmask, sharedWithOthers } from '../../../../testing/rights.ts'

describe('a new database file', () => {
  it('is private to its owner, and so are its folders, its -wal and its -shm', async () => {
    using folder = temporaryFolder()
    using _ = openUmask()
    const path = join(folder.path, 'new', 'deep', 'app.db')
    await using tm = await open(`sqlite:${path}`, { maintenance: false })
    await tm.publish('work', 1)
    await using other = await open(`sqlite:${path}`, { maintenance: false, namespace: 'other' })
    await other.publish('work', 1)
    assert.deepEqual(readdirSync(join(folder.path, 'new', 'deep')).sort(), [
      'app.db',
      'app.db-shm',
      'app.db-wal',
      'app.other.db',
      'app.other.db-shm',
      'app.other.db-wal',
    ])
    assert.deepEqual(sharedWithOthers(join(folder.path, 'new')), [])
  })

  it('is found through a link, too', async () => {
    using folder = temporaryFolder()
    using _ = openUmask()
    mkdirSync(join(folder.path, 'files'))
    symlinkSync('files/real.db', join(folder.path, 'app.db'))
    await using tm = await open(`sqlite:${join(folder.path, 'app.db')}`, { maintenance: false })
    await tm.publish('work', 1)
    assert.equal(statSync(join(folder.path, 'files', 'real.db')).mode & 0o777, 0o600)
  })

  it('that exists keeps its mode', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    await (await open(`sqlite:${path}`, { maintenance: false })).close()
    chmodSync(path, 0o640)
    await using tm = await open(`sqlite:${path}`, { maintenance: false })
    await tm.publish('work', 1)
    assert.equal(statSync(path).mode & 0o777, 0o640)
    assert.equal(statSync(`${path}-wal`).mode & 0o777, 0o640)
  })
})

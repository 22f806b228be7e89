import assert from 'node:assert/strict'
import { existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { diagnose, open, type Tidemark } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { consume } from '../../src/conformance/consuming.ts'
import { SILENT } from '../conformance/stores.ts'

type Linked = Disposable & { readonly link: string; readonly target: string }

/** `target` is not made: SQLite makes the file that a link leads to. */
function linked(name = 'app.db'): Linked {
  const folder = temporaryFolder()
  const [links, files] = [join(folder.path, 'links'), join(folder.path, 'files')]
  for (const each of [links, files]) mkdirSync(each)
  const [link, target] = [join(links, name), join(files, 'real.db')]
  symlinkSync(target, link)
  return { link, target, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

const opened = (path: string, namespace = 'default'): Promise<Tidemark> =>
  open(`sqlite:${path}`, { namespace, logger: SILENT, maintenance: false })

describe('a database file behind a link', () => {
  it('is published to, by calls and in a transaction, and read', async () => {
    using files = linked()
    await using tm = await opened(files.link)
    await tm.configureTopic('work')
    await tm.publish('work', 1)
    using db = new DatabaseSync(files.link)
    db.exec('begin immediate')
    await tm.publish('work', 2, { tx: db })
    db.exec('commit')
    await using direct = await opened(files.target)
    assert.deepEqual(await consume(direct.reader('work'), 2), [1, 2])
    assert.deepEqual(readdirSync(join(files.link, '..')), ['app.db'])
  })

  it('is in a folder behind a link, with new folders below', async () => {
    using files = linked()
    const folder = join(files.link, '..', 'folder')
    symlinkSync(join(files.target, '..'), folder)
    await using tm = await opened(join(folder, 'deep', 'down', 'app.db'))
    await tm.publish('work', 1)
    assert.ok(existsSync(join(files.target, '..', 'deep', 'down', 'app.db-wal')))
  })

  it('has the size of its own WAL reported by diagnose', async () => {
    using files = linked()
    await using tm = await opened(files.link)
    await tm.publishBatch('work', new Array(100).fill('x'.repeat(5_000)))
    const journal = (await diagnose(`sqlite:${files.link}`)).find(({ check }) => check === 'journal')
    assert.match(journal?.found ?? '', /^wal, 0\.[1-9] MB$/)
  })

  it('is removed with its namespace, and the link too', async () => {
    using files = linked('app.run.db')
    const tm = await opened(join(files.link, '..', 'app.db'), 'run')
    await tm.configureTopic('work')
    await tm.dropNamespace()
    assert.deepEqual(readdirSync(join(files.target, '..')), [])
    assert.equal(lstatSync(files.link, { throwIfNoEntry: false }), undefined)
  })
})

/** The file is removed or replaced while a process has it open: what that process goes on writing is nobody's. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { DatabaseMovedError, NamespaceGoneError, type OpenOptions, open, type Tidemark } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { eventsOf, groupOf, happened, range, soon } from '../../src/conformance/consuming.ts'
import { SILENT } from '../conformance/stores.ts'

const opened = (path: string, options: OpenOptions = {}): Promise<Tidemark> =>
  open(`sqlite:${path}`, { logger: SILENT, sweepInterval: '20ms', ...options })

const removeAll = (path: string): void => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}

const losses: Record<string, (path: string) => void | Promise<void>> = {
  'the file and its log are removed': removeAll,
  'only the file is removed': path => rmSync(path),
  'only its log is removed': path => rmSync(`${path}-wal`),
  'the file is moved away and removed there': path => {
    renameSync(path, `${path}.old`)
    rmSync(`${path}.old`)
  },
  'the file is moved away, and one that another process made comes in its place': async path => {
    await (await opened(`${path}.new`)).close()
    // In one turn: a file that is only away is an outage, which whoever waits is told of as such.
    for (const suffix of ['', '-wal', '-shm']) renameSync(path + suffix, `${path}.old${suffix}`)
    renameSync(`${path}.new`, path)
  },
  'an older copy is moved over it': path => renameSync(`${path}.copy`, path),
  'all is removed, and the copy put in its place': path => {
    removeAll(path)
    copyFileSync(`${path}.copy`, path)
  },
  'all is removed, and another process makes it anew': async path => {
    removeAll(path)
    const anew = await opened(path)
    await anew.configureTopic('work', { semantics: 'pub-sub' })
    await anew.close()
  },
}

for (const durability of ['full', 'process'] as const) {
  describe(`SQLite, durability '${durability}'`, () => {
    for (const [what, lose] of Object.entries(losses)) {
      it(`acknowledges no publish when ${what}`, async () => {
        using folder = temporaryFolder()
        const path = join(folder.path, 'app.db')
        await using tm = await opened(path, { durability })
        await tm.configureTopic('work', { semantics: 'pub-sub' })
        const stopped = eventsOf(tm, 'group-stopped')
        await tm
          .consumerGroup('work', 'g')
          .addConsumer('c', () => undefined)
          .start()
        const reader = await tm.reader('work', { group: 'r' }).ready()
        // A message may be delivered while its publish waits for the disk, which is when the loss shows.
        const received = reader.receive().then(() => reader.receive())
        received.catch(() => undefined)
        backUp(path)
        await lose(path)
        await assert.rejects(tm.publish('work', 1), NamespaceGoneError)
        await assert.rejects(tm.publishBatch('work', range(1, 10)), NamespaceGoneError)
        await assert.rejects(tm.configureTopic('other'), NamespaceGoneError)
        await assert.rejects(tm.admin.groups('work'), NamespaceGoneError)
        const [event] = await happened(stopped, 1, 'the group to stop')
        assert.ok(event?.reason instanceof NamespaceGoneError)
        await assert.rejects(soon(received, 'the reader to hear of it'), NamespaceGoneError)
        await soon(tm.close(), 'it to close')
      })
    }
  })
}

const moves: Record<string, (folder: string, path: string) => { away(): void; back(): void }> = {
  'the file': (_folder, path) => between(path, `${path}.away`),
  'the folder': folder => between(folder, `${folder}.away`),
}

function between(from: string, to: string): { away(): void; back(): void } {
  return { away: () => renameSync(from, to), back: () => renameSync(to, from) }
}

for (const durability of ['full', 'process'] as const) {
  describe(`SQLite, durability '${durability}': moved away and back`, () => {
    for (const [what, moving] of Object.entries(moves)) {
      it(`${what} is an outage: nothing is stored meanwhile, and everything continues by itself`, async () => {
        using parent = temporaryFolder()
        const folder = join(parent.path, 'data')
        const path = join(folder, 'app.db')
        const { away, back } = moving(folder, path)
        await using tm = await opened(path, { durability })
        await tm.configureTopic('work')
        const handled: unknown[] = []
        await tm
          .consumerGroup('work')
          .addConsumer('c', ({ payload, attempt }) => void handled.push([payload, attempt]))
          .start()
        const [began, ended] = [eventsOf(tm, 'outage'), eventsOf(tm, 'outage-ended')]
        for (const round of [1, 2]) {
          await tm.publish('work', round)
          await until(() => handled.length === round, { what: 'the group to handle it' })
          await until(async () => (await groupOf(tm, 'work')).inFlight === 0, {
            what: 'the message to be acknowledged',
          })
          away()
          await assert.rejects(tm.publish('work', 'never'), DatabaseMovedError)
          await assert.rejects(tm.publishBatch('work', ['never', 'never']), DatabaseMovedError)
          await assert.rejects(tm.admin.groups('work'), DatabaseMovedError)
          await happened(began, round, 'the outage to be told')
          assert.equal((await tm.admin.health()).database.reachable, false)
          back()
          await happened(ended, round, 'the end of the outage to be told')
        }
        await tm.publish('work', 3)
        await until(() => handled.length === 3, { what: 'the group to go on' })
        assert.deepEqual(handled, [
          [1, 1],
          [2, 1],
          [3, 1],
        ])
        assert.deepEqual(
          (await tm.admin.browse('work')).messages.map(({ payload }) => payload),
          ['1', '2', '3'],
        )
      })
    }
  })
}

describe('SQLite: a file that is replaced', () => {
  it('stops waiting consumers', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    await using tm = await opened(path)
    await tm.configureTopic('work')
    const stopped = eventsOf(tm, 'group-stopped')
    await tm
      .consumerGroup('work')
      .addConsumer('c', () => undefined)
      .start()
    removeAll(path)
    const [event] = await happened(stopped, 1, 'the group to stop')
    assert.ok(event?.reason instanceof NamespaceGoneError)
  })

  it('takes no message in a transaction of the caller', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    await using tm = await opened(path)
    await tm.configureTopic('work')
    using before = new DatabaseSync(path)
    before.exec('begin immediate')
    removeAll(path)
    await assert.rejects(tm.publish('work', 1, { tx: before }), Error)
    before.exec('rollback')
    const anew = await opened(path)
    await anew.configureTopic('work')
    using after = new DatabaseSync(path)
    after.exec('begin immediate')
    await assert.rejects(tm.publish('work', 1, { tx: after }), NamespaceGoneError)
    after.exec('commit')
    assert.equal(await anew.reader('work').poll(0), null)
    await anew.close()
  })

  it('may be reached through a link, as long as that leads to it', async () => {
    using folder = temporaryFolder()
    const [path, link] = [join(folder.path, 'app.db'), join(folder.path, 'link.db')]
    await (await opened(path)).close()
    symlinkSync(path, link)
    await using tm = await opened(link, { durability: 'process' })
    await tm.publish('work', 1)
    await (await opened(path)).publish('work', 2).then(({ id }) => assert.equal(id, 2))
    unlinkSync(link)
    await (await opened(join(folder.path, 'other.db'))).close()
    symlinkSync(join(folder.path, 'other.db'), link)
    await assert.rejects(tm.publish('work', 3), NamespaceGoneError)
  })

  it('is not mistaken for one that only others wrote to: checkpoints and other processes', async () => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'app.db')
    await using tm = await opened(path)
    for (const round of range(1, 5)) {
      await tm.publishBatch('work', range(1, 200))
      const other = await opened(path)
      await other.publish('work', round)
      using db = new DatabaseSync(path)
      db.exec('pragma wal_checkpoint(truncate)')
      await other.close()
      assert.ok(existsSync(`${path}-wal`))
      assert.equal((await tm.publish('work', 'mine')).id, round * 202)
    }
    using db = new DatabaseSync(path)
    db.exec('vacuum')
    await tm.publish('work', 'still')
  })
})

const logLosses: Record<string, (log: string) => void> = {
  removed: log => rmSync(log),
  'moved away and removed there': log => {
    renameSync(log, `${log}.old`)
    rmSync(`${log}.old`)
  },
  'replaced by a copy': log => {
    copyFileSync(log, `${log}.copy`)
    renameSync(`${log}.copy`, log)
  },
}

describe('SQLite: the log of a file whose folder has not changed for a while', () => {
  for (const [what, lose] of Object.entries(logLosses)) {
    it(`is noticed when it is ${what}, though the folder gets its old times back`, async () => {
      using folder = temporaryFolder()
      const path = join(folder.path, 'app.db')
      await using tm = await opened(path, { sweepInterval: '1h' })
      await tm.configureTopic('work', { semantics: 'pub-sub' })
      await until(() => Date.now() - statSync(folder.path).ctimeMs > 200, { what: 'the folder to be old' })
      for (const payload of [1, 2]) await tm.publish('work', payload)
      const { atime, mtime } = statSync(folder.path)
      lose(`${path}-wal`)
      utimesSync(folder.path, atime, mtime)
      await assert.rejects(tm.publish('work', 3), NamespaceGoneError)
    })
  }
})

/** A copy of the file as it is, its log included. */
function backUp(path: string): void {
  using db = new DatabaseSync(path)
  db.exec(`vacuum into '${path}.copy'`)
}

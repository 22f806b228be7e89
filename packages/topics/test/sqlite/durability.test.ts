import assert from 'node:assert/strict'
import { type FileHandle, open as openFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { open, type Tidemark } from 'tidemark'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'

/** Holds back every fdatasync of this process until it is let through; each is then really done. */
async function holdSyncs(): Promise<Disposable & { calls(): number; letThrough(): void }> {
  const file = await openFile(import.meta.filename)
  const prototype = Object.getPrototypeOf(file) as FileHandle
  await file.close()
  const { datasync } = prototype
  const gate = Promise.withResolvers<void>()
  let calls = 0
  prototype.datasync = async function (this: FileHandle) {
    calls++
    await gate.promise
    await datasync.call(this)
  }
  return {
    calls: () => calls,
    letThrough: () => gate.resolve(),
    [Symbol.dispose]: () => {
      gate.resolve()
      prototype.datasync = datasync
    },
  }
}

async function opened(path: string, durability: 'full' | 'process'): Promise<Tidemark> {
  const tm = await open(`sqlite:${join(path, 'app.db')}`, { durability })
  await tm.configureTopic('work')
  return tm
}

function watched(promise: Promise<unknown>): { done: boolean } {
  const state = { done: false }
  void promise.then(() => {
    state.done = true
  })
  return state
}

describe("durability: 'full'", () => {
  it('resolves a publish only when the log is synced', async () => {
    using folder = temporaryFolder()
    await using tm = await opened(folder.path, 'full')
    using syncs = await holdSyncs()
    const publish = tm.publish('work', 1)
    const publishing = watched(publish)
    await until(() => syncs.calls() === 1, { what: 'the sync to begin' })
    // It is committed, and others may see it; but it is not promised yet.
    assert.equal((await tm.admin.describeTopic('work')).messagesPublished, 1)
    assert.equal(publishing.done, false)
    syncs.letThrough()
    await publish
  })

  it('resolves an ack only when the log is synced', async () => {
    using folder = temporaryFolder()
    await using tm = await opened(folder.path, 'full')
    await tm.publish('work', 1)
    const delivery = await tm.reader('work').receive()
    using syncs = await holdSyncs()
    const ack = delivery.ack()
    const acking = watched(ack)
    await until(() => syncs.calls() === 1, { what: 'the sync to begin' })
    assert.equal((await tm.admin.describeTopic('work')).groups[0]?.inFlight, 0)
    assert.equal(acking.done, false)
    syncs.letThrough()
    await ack
  })

  it('syncs once for everything that committed during a sync, and never counts an earlier one', async () => {
    using folder = temporaryFolder()
    await using tm = await opened(folder.path, 'full')
    for (const topic of ['a', 'b', 'c']) await tm.configureTopic(topic)
    using syncs = await holdSyncs()
    const first = tm.publish('work', 1)
    await until(() => syncs.calls() === 1, { what: 'the first sync' })
    const others = ['a', 'b', 'c'].map(topic => tm.publish(topic, 1))
    const counts = async () => await Promise.all(['a', 'b', 'c'].map(topic => tm.admin.describeTopic(topic)))
    await until(async () => (await counts()).every(each => each.messagesPublished === 1), { what: 'the commits' })
    syncs.letThrough()
    await Promise.all([first, ...others])
    assert.equal(syncs.calls(), 2)
  })
})

describe("durability: 'process'", () => {
  it('waits for no sync', async () => {
    using folder = temporaryFolder()
    await using tm = await opened(folder.path, 'process')
    using syncs = await holdSyncs()
    await tm.publish('work', 1)
    const delivery = await tm.reader('work').receive()
    await delivery.ack()
    assert.equal(syncs.calls(), 0)
  })
})

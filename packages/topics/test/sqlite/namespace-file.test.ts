import assert from 'node:assert/strict'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { describe, it } from 'node:test'
import type { Tidemark } from 'tidemark'
import { range } from '../../src/conformance/consuming.ts'
import { SHARED_STORES } from '../conformance/stores.ts'

describe('SQLite', () => {
  it('keeps a namespace in its own file, which is removed with it', async () => {
    const [sqlite] = SHARED_STORES
    assert.ok(sqlite?.name === 'SQLite')
    await using database = await sqlite.fresh()
    const tm = await database.open({ namespace: 'run-7' })
    const file = database.url.slice('sqlite:'.length).replace('app.db', 'app.run-7.db')
    assert.ok(existsSync(file))
    await tm.dropNamespace()
    for (const suffix of ['', '-wal', '-shm']) assert.equal(existsSync(file + suffix), false)
  })
})

describe('SQLite: a copy of the file that is restored', () => {
  it('reuses its ids, but no messageId', async () => {
    const [sqlite] = SHARED_STORES
    assert.ok(sqlite)
    await using database = await sqlite.fresh()
    const path = database.url.slice('sqlite:'.length)
    const before = await database.open()
    const [kept = ''] = await publishAll(before, ['kept'])
    await before.close()
    copyFileSync(path, `${path}.copy`)
    const original = await database.open()
    const returned = new Set([kept, ...(await publishAll(original, range(1, 4)))])
    await original.close()
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    copyFileSync(`${path}.copy`, path)
    const restored = await database.open()
    const fresh = await publishAll(restored, range(1, 4))
    for (const messageId of fresh) assert.ok(!returned.has(messageId), messageId)
    const { messages } = await restored.admin.browse('work')
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      [kept, ...fresh],
    )
  })
})

async function publishAll(tm: Tidemark, payloads: readonly unknown[]): Promise<string[]> {
  const refs = await tm.publishBatch('work', payloads)
  return refs.map(({ messageId }) => messageId)
}

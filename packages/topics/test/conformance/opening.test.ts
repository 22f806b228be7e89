import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { spawnScript } from '../../../../testing/processes.ts'
import { range, receive } from '../../src/conformance/consuming.ts'
import { SHARED_STORES } from './stores.ts'

const script = new URL('scripts/open-and-publish.ts', import.meta.url)

for (const store of SHARED_STORES) {
  describe(store.name, () => {
    describe('processes that open a new database at once', () => {
      it('all succeed, and the tables are made once', async () => {
        await using database = await store.fresh()
        const children = range(1, 4).map(() => spawnScript(script, [database.url]))
        try {
          const lines = await Promise.all(children.map(child => child.waitForLine('{')))
          const ids = lines.map(line => (JSON.parse(line) as { id?: number }).id)
          assert.ok(!ids.includes(undefined), lines.join('\n'))
          assert.equal(new Set(ids).size, 4)
        } finally {
          await Promise.all(children.map(child => child[Symbol.asyncDispose]()))
        }
        const tm = await database.open()
        const reader = tm.reader('work')
        const read = new Set<string>()
        for (const _ of children) read.add((await receive(reader)).messageId)
        assert.deepEqual(read, new Set(children.map(child => `of ${child.pid}`)))
        assert.deepEqual(await versions(database), [...new Set(await versions(database))])
      })
    })

    describe('instances that open a new database at once', () => {
      it('all succeed', async () => {
        await using database = await store.fresh()
        const instances = await Promise.all(range(1, 6).map(() => database.open()))
        await Promise.all(instances.map(tm => tm.publish('work', 1)))
        const [tm] = instances
        assert.equal((await tm?.admin.describeTopic('work'))?.messagesPublished, 6)
      })
    })

    describe('a database that is opened again', () => {
      it('is not migrated again', async () => {
        await using database = await store.fresh()
        await (await database.open()).close()
        const before = await migrations(database)
        assert.ok(before.length > 0)
        await (await database.open()).close()
        assert.deepEqual(await migrations(database), before)
      })
    })
  })
}

type Database = Awaited<ReturnType<(typeof SHARED_STORES)[number]['fresh']>>

const migrations = async (database: Database) =>
  await database.execute({
    sqlite: 'select version, applied_at from tidemark_migration order by version',
    postgres: 'select version, applied_at from tidemark.migration order by version',
  })

const versions = async (database: Database) => (await migrations(database)).map(({ version }) => version)

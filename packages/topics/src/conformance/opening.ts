import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { ConformanceStores } from './conformance-store.ts'
import { range, receive } from './consuming.ts'
import { it } from './it.ts'
import { spawn } from './spawn.ts'

export function opening({ shared }: ConformanceStores): void {
  for (const store of shared) {
    describe(store.name, () => {
      describe('processes that open a new database at once', () => {
        it('all succeed, and the tables are made once', async () => {
          await using database = await store.fresh()
          const children = range(1, 4).map(() => spawn(store, 'open-and-publish', [database.url]))
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
    })
  }
}

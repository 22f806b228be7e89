/**
 * An engine that lives outside the package: it knows `tidemark/store` and `tidemark/conformance`. Storing is left to the
 * SQLite engine, the one thing here that comes from inside.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { ConfigError, migrate, open } from 'tidemark'
import { conformance, testDatabase } from 'tidemark/conformance'
import { registerStore, type StoreEngine } from 'tidemark/store'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { sqliteEngine } from '../../src/stores/sqlite/engine.ts'

const opened: string[] = []

const toyEngine: StoreEngine = {
  name: 'toy',
  async open(address, settings) {
    const shelf = settings.options.string('shelf', 'none')
    opened.push(shelf)
    const { url } = address
    return await sqliteEngine.open({ ...address, url: url.replace('toy:', 'sqlite:') }, settings)
  },
}
const loadToy = async (): Promise<StoreEngine> => toyEngine

registerStore('toy', loadToy)

conformance({
  name: 'an engine outside the package',
  isShared: true,
  async fresh() {
    const folder = temporaryFolder()
    const path = join(folder.path, 'toy.db')
    return testDatabase(`toy:${path}`, {
      async expireLeases() {
        using db = new DatabaseSync(path, { timeout: 5_000 })
        db.exec('update tidemark_lease set deadline = 1 where deadline is not null and done_at is null')
      },
      remove: async () => folder[Symbol.dispose](),
    })
  },
})

describe('registerStore', () => {
  it('makes open() hand the address and its options to the engine', async () => {
    using folder = temporaryFolder()
    const options = { shelf: 'top' } as object
    await using tm = await open(`toy:${join(folder.path, 'a.db')}`, options)
    await tm.publish('work', 1)
    assert.equal(opened.at(-1), 'top')
  })

  it('refuses options that the engine does not know', async () => {
    await assert.rejects(open('toy::memory:', { colour: 'red' } as object), ConfigError)
  })

  it('takes the same function again, and refuses a scheme that another engine has', () => {
    registerStore('toy', loadToy)
    assert.throws(() => registerStore('toy', async () => toyEngine), ConfigError)
    assert.throws(() => registerStore('sqlite', loadToy), ConfigError)
    assert.throws(() => registerStore('Toy:', loadToy), ConfigError)
  })

  it('refuses to migrate where the engine has no operator', async () => {
    await assert.rejects(migrate('toy::memory:'), ConfigError)
  })

  it('refuses an address whose scheme nobody registered, and shows no password', async () => {
    await assert.rejects(open('unknown://user:secret@host'), (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
  })
})

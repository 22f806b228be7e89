/** An engine outside the package, held to the suites through the public entries `tidemark/store` and `tidemark/conformance`. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError, migrate, open } from 'tidemark'
import { type ConformanceSuite, conformance, conformanceSuites } from 'tidemark/conformance'
import { registerStore } from 'tidemark/store'
import { temporaryFolder } from '../../../../testing/databases.ts'
import { isLong } from '../../../../testing/long.ts'
import { loadToy, shelves } from './toy-engine.ts'
import { toyStore } from './toy-store.ts'

/** One of each kind: through the API, by hooks, with processes, killed. All of them run on the built-in engines already. */
const SOME: ConformanceSuite[] = ['settling', 'leases', 'zombies', 'operating', 'opening', 'killedGroup']

conformance(toyStore, { suites: isLong ? conformanceSuites : SOME })

describe('registerStore', () => {
  it('makes open() hand the address and its options to the engine', async () => {
    using folder = temporaryFolder()
    const options = { shelf: 'top' } as object
    await using tm = await open(`toy:${join(folder.path, 'a.db')}`, options)
    await tm.publish('work', 1)
    assert.equal(shelves.at(-1), 'top')
  })

  it('refuses options that the engine does not know', async () => {
    await assert.rejects(open('toy::memory:', { colour: 'red' } as object), ConfigError)
  })

  it('accepts the same function again, and refuses a scheme that another engine has', () => {
    registerStore('toy', loadToy)
    assert.throws(() => registerStore('toy', async () => await loadToy()), ConfigError)
    assert.throws(() => registerStore('sqlite', loadToy), ConfigError)
    assert.throws(() => registerStore('Toy:', loadToy), ConfigError)
  })

  it('refuses to migrate if the engine has no operator', async () => {
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

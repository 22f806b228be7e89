/** What `open()` takes besides a URL, and what it refuses. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import postgres from 'postgres'
import { ConfigError, type DatabaseAddress, migrate, open } from 'tidemark'
import { betterSqlite3, libsql, pglite, postgresJs } from 'tidemark/drivers'

const SECRET = 'postgres://user:secret@localhost:1/nowhere'

const WRONG: Record<string, unknown> = {
  nothing: undefined,
  'a number': 7,
  'an empty object': {},
  'a pool that is none': { postgres: {} },
  'a client instead of a pool': { postgres: new pg.Client(SECRET) },
  'the URL of a pool': { postgres: SECRET },
  'a postgres.js instance as a pool': { postgres: postgres(SECRET) },
  'a library instead of a driver': { driver: pg },
  'a driver of no known engine': { driver: { engine: 'mysql', name: 'mysql2' } },
  'a driver without its functions': { driver: { engine: 'postgres', name: 'half' } },
  'a pool and a driver': { postgres: new pg.Pool(), driver: postgresJs(postgres(SECRET)) },
  'options beside the pool': { postgres: new pg.Pool(), namespace: 'a' },
}

describe('an address', () => {
  for (const [what, address] of Object.entries(WRONG)) {
    it(`that is ${what} is refused, and no password shown`, async () => {
      for (const call of [open, migrate]) {
        await assert.rejects(call(address as DatabaseAddress), (error: unknown) => {
          assert.ok(error instanceof ConfigError, String(error))
          assert.doesNotMatch(error.message, /secret/)
          return true
        })
      }
    })
  }

  it('of a driver takes the options of its engine only', async () => {
    const driver = postgresJs(postgres(SECRET))
    for (const options of [{ poolSize: 5 }, { ssl: true }, { durability: 'full' as const }]) {
      await assert.rejects(open({ driver }, options), ConfigError)
    }
  })
})

describe('a driver', () => {
  it('refuses objects that are not of its library', () => {
    const wrong = {} as never
    for (const make of [postgresJs, pglite]) assert.throws(() => make(wrong), ConfigError)
    for (const make of [betterSqlite3, libsql]) assert.throws(() => make(wrong, 'app.db'), ConfigError)
  })
})

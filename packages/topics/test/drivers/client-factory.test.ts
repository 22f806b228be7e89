/** `open('postgres://…', { client })`: a function of the program makes the client of each new connection. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { ConfigError, DatabaseUnreachableError, open, type PgClient } from 'tidemark'
import { migratedDatabase } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { executePostgres, SILENT } from '../conformance/stores.ts'

/** Where a factory is given, the URL only says what to call the database. */
const NOWHERE = 'postgres://nobody@db.example:1/shop'

describe('a factory of clients', () => {
  it('makes each connection, including the one for LISTEN', async () => {
    await using database = await migratedDatabase()
    let made = 0
    const client = async (): Promise<pg.Client> => {
      made++
      return new pg.Client({ connectionString: database.url, application_name: 'with-token' })
    }
    await using tm = await open(NOWHERE, { client, logger: SILENT })
    await tm.publish('work', 1)
    const group = tm.consumerGroup('work', 'g')
    const received: unknown[] = []
    group.addConsumer('c', async ({ payload }) => void received.push(payload))
    await group.start()
    await until(() => received.length === 1, { what: 'the message' })
    const sessions =
      "select from pg_stat_activity where datname = current_database() and application_name = 'with-token'"
    const isEachMade = async (): Promise<boolean> => (await executePostgres(database.url, sessions)).length === made
    await until(isEachMade, { what: 'every session to be one that the factory made' })
    assert.ok(made >= 2)
  })

  it('is asked again for a connection that was lost: its token may be another', async () => {
    await using database = await migratedDatabase()
    const tokens: number[] = []
    const client = (): pg.Client => {
      tokens.push(tokens.length)
      return new pg.Client({ connectionString: database.url, application_name: `token-${tokens.length}` })
    }
    await using tm = await open(NOWHERE, { client, logger: SILENT, poolSize: 2 })
    await tm.publish('work', 1)
    const before = tokens.length
    const others =
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    await executePostgres(database.url, others)
    const publishes = () =>
      tm.publish('work', 2).then(
        () => true,
        () => false,
      )
    await until(publishes, { what: 'a publish on a new connection' })
    assert.ok(tokens.length > before)
  })

  it('that throws is reported by open(), and called again at the next attempt', async () => {
    await using database = await migratedDatabase()
    let isDown = true
    const client = async (): Promise<pg.Client> => {
      if (isDown) throw new Error('The token service is down')
      return new pg.Client(database.url)
    }
    await assert.rejects(open(NOWHERE, { client, logger: SILENT }), (error: unknown) => {
      assert.ok(error instanceof DatabaseUnreachableError)
      assert.match(String(error.cause), /token service is down/)
      assert.match(error.message, /db\.example/)
      return true
    })
    isDown = false
    await using tm = await open(NOWHERE, { client, logger: SILENT })
    await tm.publish('work', 1)
  })

  it('that never answers is not waited for longer than the statementTimeout', async () => {
    const never = (): Promise<PgClient> => delay(3_600_000, undefined as never, { ref: false })
    await assert.rejects(
      open(NOWHERE, { client: never, logger: SILENT, statementTimeout: '200ms' }),
      (error: unknown) => {
        assert.ok(error instanceof DatabaseUnreachableError)
        return true
      },
    )
  })

  it('that returns the same client twice, a connected one, or none is refused', async () => {
    await using database = await migratedDatabase()
    const one = new pg.Client(database.url)
    await assert.rejects(open(NOWHERE, { client: () => one, logger: SILENT }), refusal(/same client again/))
    const connected = new pg.Client(database.url)
    await connected.connect()
    await connected.query('begin')
    await connected.query('select 1 / 0').catch(() => undefined)
    await assert.rejects(open(NOWHERE, { client: () => connected, logger: SILENT }), refusal(/not a new client/))
    await connected.end()
    for (const nothing of [null, {}, 'client', new pg.Pool()]) {
      const client = () => nothing as unknown as PgClient
      await assert.rejects(open(NOWHERE, { client, logger: SILENT }), refusal(/open\.client/))
    }
    const notAFunction = one as unknown as () => PgClient
    await assert.rejects(open(NOWHERE, { client: notAFunction, logger: SILENT }), refusal(/open\.client/))
  })
})

const refusal = (what: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ConfigError, String(error))
  assert.match(error.message, what)
  return true
}

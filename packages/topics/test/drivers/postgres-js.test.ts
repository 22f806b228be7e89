/** postgres.js: its own types, transforms and ends must not matter to Tidemark. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import postgres from 'postgres'
import { ConfigError, DatabaseUnreachableError, open, type Tidemark } from 'tidemark'
import { postgresJs } from 'tidemark/drivers'
import { migratedDatabase } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { executePostgres, SILENT } from '../conformance/stores.ts'

const QUIET = { onnotice() {} }

async function roundTrip(tm: Tidemark): Promise<void> {
  const payload = { text: 'ü"\\{}', bytes: [1, 2] }
  const [ref] = await tm.publishBatch('work', [payload])
  const delivery = await tm.reader('work').receive()
  assert.deepEqual(delivery.payload, payload)
  assert.equal(delivery.id, ref?.id)
  await delivery.ack()
}

describe('an instance of postgres.js', () => {
  const OPTIONS: Record<string, postgres.Options<Record<string, postgres.PostgresType>>> = {
    'one connection': { max: 1 },
    'no prepared statements': { prepare: false },
    'names in camel case': { transform: postgres.camel },
    'types and transforms of its own': {
      types: { json: { to: 114, from: [114, 3802], serialize: () => '{}', parse: () => 'mine' } },
      transform: { undefined: null, value: { from: () => 'transformed' } },
    },
    'READ ONLY and SERIALIZABLE by default': {
      connection: { default_transaction_read_only: true, default_transaction_isolation: 'serializable' },
    },
  }
  for (const [what, options] of Object.entries(OPTIONS)) {
    it(`with ${what} works, and is not ended with Tidemark`, async () => {
      await using database = await migratedDatabase()
      const sql = postgres(database.url, { ...QUIET, ...options })
      const tm = await open({ driver: postgresJs(sql) }, { logger: SILENT })
      await roundTrip(tm)
      await tm.close()
      assert.equal((await sql.unsafe('select 1')).length, 1)
      await sql.end({ timeout: 1 })
    })
  }

  it('hears what others publish, and looks for what it missed while its connection was lost', async () => {
    await using database = await migratedDatabase()
    const sql = postgres(database.url, { ...QUIET, max: 4, backoff: () => 0.01 })
    const tm = await open({ driver: postgresJs(sql) }, { logger: SILENT, sweepInterval: '1h' })
    const there = await open(database.url, { logger: SILENT })
    await there.configureTopic('work', {})
    const received: unknown[] = []
    const group = tm.consumerGroup('work', 'g')
    group.addConsumer('c', async ({ payload }) => void received.push(payload))
    await group.start()
    await there.publish('work', 1)
    await until(() => received.length === 1, { what: 'the first message' })
    await executePostgres(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen %' and application_name = 'postgres.js'`,
    )
    await there.publish('work', 2)
    await until(() => received.length === 2, { what: 'the second message' })
    await tm.close()
    await there.close()
    await sql.end({ timeout: 1 })
  })

  it('that renames columns permanently is refused', async () => {
    const sql = postgres('postgres://localhost:1/nowhere', { transform: { column: { from: postgres.toCamel } } })
    assert.throws(() => postgresJs(sql), ConfigError)
  })

  it('that is ended underneath is reported, and lets Tidemark close', async () => {
    await using database = await migratedDatabase()
    const sql = postgres(database.url, QUIET)
    const tm = await open({ driver: postgresJs(sql) }, { logger: SILENT })
    await tm.publish('work', 1)
    await sql.end({ timeout: 1 })
    await assert.rejects(tm.publish('work', 2), DatabaseUnreachableError)
    await tm.close()
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { until } from '../../../../testing/until.ts'
import {
  ClosedError,
  DatabaseError,
  DatabaseReadOnlyError,
  DatabaseUnreachableError,
  DatabaseVersionError,
} from '../../src/errors.ts'
import { open as openTidemark, type PgClient } from '../../src/index.ts'
import { schemaName } from '../../src/stores/postgres/schema-name.ts'
import { admin, freshNamespace, message, messages, open, openStore, server, useServer } from './store-bench.ts'

useServer()

describe('opening a PostgreSQL store', () => {
  it('creates the namespace once, whoever starts at the same time', async () => {
    const namespace = freshNamespace()
    const stores = await Promise.all(Array.from({ length: 8 }, () => openStore(namespace)))
    const topics = await Promise.all(stores.map(store => store.topics.configure('same', {})))
    assert.equal(new Set(topics.map(({ id }) => id)).size, 1)
    await Promise.all(stores.map(store => store.close()))
  })

  it('refuses a schema of a newer Tidemark', async () => {
    const bench = await open()
    await admin.query(`insert into "${bench.schema}".migration (version, checksum) values (99, '')`)
    await bench.store.close()
    await assert.rejects(openStore(bench.namespace), DatabaseVersionError)
  })

  it('refuses a server that is older than PostgreSQL 14, and says so', async () => {
    const namespace = freshNamespace()
    const refused = openTidemark(server.url, { namespace, client: () => clientOfOldServer(server.url) })
    await assert.rejects(refused, (error: DatabaseVersionError) => {
      assert.equal(error.code, 'TIDEMARK_DATABASE_VERSION')
      assert.match(error.message, /^PostgreSQL at .* is version 13; Tidemark needs 14 or later\. Upgrade the server/)
      return true
    })
    const { rows } = await admin.query('select from pg_namespace where nspname = $1', [schemaName(namespace)])
    assert.equal(rows.length, 0)
  })

  it('reports clearly what is wrong with the address, and never the password', async () => {
    const refused = openStore('x', { url: 'postgres://user:secret@127.0.0.1:1/db' })
    await assert.rejects(
      refused,
      error => error instanceof DatabaseUnreachableError && !error.message.includes('secret'),
    )
    const missing = openStore('x', { url: server.url.replace(/\/postgres$/, '/missing') })
    await assert.rejects(missing, error => error instanceof DatabaseError && /does not exist/.test(error.message))
  })

  it('says which permission is missing if it may not create the schema', async () => {
    await admin.query('drop role if exists poor')
    await admin.query('create role poor login')
    const url = server.url.replace('postgres@', 'poor@')
    await assert.rejects(openStore(freshNamespace(), { url }), /Grant it CREATE/)
  })

  it('keeps namespaces apart, long names too', async () => {
    const long = 'n'.repeat(120)
    assert.ok(schemaName(long).length <= 63)
    assert.notEqual(schemaName(long), schemaName(`${long}n`))
    await using one = await open({}, { namespace: long })
    await using two = await open({}, { namespace: `${long}n` })
    await one.store.log.publish(one.topic, messages(3))
    assert.equal((await two.store.inspection.describe(two.topic)).messagesPublished, 0)
    await one.store.dropNamespace()
    await two.store.dropNamespace()
    assert.deepEqual((await admin.query('select from pg_namespace where nspname = $1', [schemaName(long)])).rows, [])
  })

  it('closes twice and leaves no connection', async () => {
    const { store } = await open({}, { applicationName: 'leak-check' })
    await Promise.all([store.close(), store.close()])
    const left = async () =>
      (await admin.query("select from pg_stat_activity where application_name = 'leak-check'")).rows.length === 0
    await until(left, { what: 'the connections to end' })
  })
})

describe('closing', () => {
  it('waits for what runs, and for what waits for a connection', async () => {
    const bench = await open({}, { poolSize: 1 })
    const published = Array.from({ length: 20 }, (_, index) => bench.store.log.publish(bench.topic, [message(index)]))
    await bench.store.close()
    assert.equal((await Promise.all(published)).length, 20)
    await assert.rejects(bench.store.log.publish(bench.topic, messages(1)), ClosedError)
  })
})

describe('a read-only server', () => {
  it('is reported as such', async () => {
    await using bench = await open()
    const { rows } = await admin.query<{ name: string }>('select current_database() as name')
    await admin.query(`alter database "${rows[0]?.name}" set default_transaction_read_only = on`)
    try {
      await using other = { store: await openStore(bench.namespace), [Symbol.asyncDispose]: async () => {} }
      await assert.rejects(other.store.log.publish(bench.topic, messages(1)), DatabaseReadOnlyError)
      await other.store.close()
    } finally {
      const client = new pg.Client({ connectionString: server.url, options: '-c default_transaction_read_only=off' })
      await client.connect()
      await client.query(`alter database "${rows[0]?.name}" reset default_transaction_read_only`)
      await client.end()
    }
  })
})

/** Of a server that says it is PostgreSQL 13.22. */
function clientOfOldServer(url: string): PgClient {
  const client = new pg.Client(url)
  const query = client.query.bind(client)
  const lie = "select '130022' as server_version_num"
  const answer = (asked: pg.QueryConfig): unknown =>
    query(asked.text === 'show server_version_num' ? { ...asked, text: lie } : asked)
  return Object.assign(client, { query: answer })
}

/**
 * A namespace that the last released schema has made, with data in it (make-dumps.ts), is opened by this version, and by one
 * that has a migration more.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import * as current from 'tidemark'
import { DatabaseRestoredError, DatabaseVersionError, type Tidemark } from 'tidemark'
import { freshDatabase, temporaryFolder } from '../../../../testing/databases.ts'
import { until } from '../../../../testing/until.ts'
import { executePostgres, SILENT } from '../conformance/stores.ts'
import { burnTransactions } from '../postgres/logical-copy.ts'
import { STATUSES, WAITING } from './fill.ts'
import { nextVersion } from './other-version.ts'

type Program = typeof current
type Loaded = AsyncDisposable & { readonly url: string; query(sql: string): Promise<Record<string, unknown>[]> }

const DUMPS = new URL('dumps/', import.meta.url)
const options = { maintenance: false, logger: SILENT } as const

const ENGINES = {
  SQLite: { dumps: /\.sqlite\.sql$/, load: loadSqlite, prefix: 'tidemark_' },
  PostgreSQL: { dumps: /\.postgres\.sql$/, load: loadPostgres, prefix: 'tidemark.' },
}

const PROGRAMS: Record<string, (folder: string) => Promise<Program>> = {
  'this version': async () => current,
  'a version with one migration more': nextVersion,
}

for (const [engine, { dumps, load, prefix }] of Object.entries(ENGINES)) {
  for (const dump of readdirSync(DUMPS).filter(name => dumps.test(name))) {
    describe(`a namespace of ${dump} on ${engine}`, () => {
      for (const [name, program] of Object.entries(PROGRAMS)) {
        it(`is upgraded by ${name}, and everything in it is delivered once`, async () => {
          using folder = temporaryFolder()
          await using database = await load(dump)
          const { open, schemaVersions } = await program(folder.path)
          const { found, newest } = await schemaVersions(database.url)
          assert.equal(found, Number(/^schema-(\d+)/.exec(dump)?.[1]))
          await using tm = await opened(open, database.url)
          assert.equal((await schemaVersions(database.url)).found, newest)
          await consumeAll(tm)
          const applied = await database.query(`select version from ${prefix}migration order by version`)
          assert.deepEqual(
            applied.map(({ version }) => Number(version)),
            Array.from({ length: newest }, (_, index) => index + 1),
          )
          assert.deepEqual((await tm.admin.health()).inconsistencies, [])
        })
      }

      it('is upgraded under a running process of the previous version, which continues; a new one of that version is refused', async () => {
        using folder = temporaryFolder()
        await using database = await load(dump)
        await using old = await opened(current.open, database.url)
        const work = old.reader('work')
        assert.ok(await work.poll(10_000))
        await using next = await (await nextVersion(folder.path)).open(database.url, options)
        await Promise.all([old.publish('work', 6), next.publish('work', 7)])
        await consumeAll(old, { work: { '': [3, 4, 5, 6, 7] }, tracked: WAITING.tracked ?? {} })
        const labels = await database.query(`select name from ${prefix}label order by name`)
        assert.deepEqual(
          labels.map(row => row.name),
          ['orders', 'tracked', 'work'],
        )
        await assert.rejects(current.open(database.url, options), (error: unknown) => {
          assert.ok(error instanceof DatabaseVersionError)
          assert.match(error.message, /newer Tidemark/)
          return true
        })
      })
    })
  }
}

async function consumeAll(tm: Tidemark, waiting = WAITING): Promise<void> {
  for (const [topic, groups] of Object.entries(waiting)) {
    for (const [group, expected] of Object.entries(groups)) {
      assert.deepEqual(await drain(tm, topic, group, expected.length), expected, `group '${group}' of ${topic}`)
    }
  }
  if (waiting !== WAITING) return
  const groups = await tm.admin.groups('orders')
  assert.deepEqual(Object.fromEntries(groups.map(({ group, status }) => [group, status])), STATUSES)
  const [letter, ...others] = await tm.admin.deadLetters('orders')
  assert.deepEqual([letter?.payload, letter?.group, others.length], ['10', 'email', 0])
  assert.equal((await tm.admin.redrive('orders', { all: true })).redriven, 1)
  assert.deepEqual(await drain(tm, 'orders', 'email', 1), [10])
  // What was published once with this id is there, and the next message comes after all others.
  assert.equal((await tm.publish('orders', 'again', { messageId: 'first' })).id, 1)
  await tm.publish('orders', 21)
  for (const group of ['email', 'audit']) assert.deepEqual(await drain(tm, 'orders', group, 1), [21])
}

/** All that waits, in the order of payloads: what was held or failed comes later than it was published. */
async function drain(tm: Tidemark, topic: string, group: string, count: number): Promise<unknown[]> {
  await using reader = tm.reader(topic, group === '' ? {} : { group })
  const seen: unknown[] = []
  while (seen.length < count) {
    const delivery = await reader.poll(20_000)
    assert.ok(delivery, `${topic}/${group}: nothing after ${seen.join(', ')}`)
    seen.push(delivery.payload)
    await reader.ack(delivery)
  }
  assert.equal(await reader.poll(0), null)
  return seen.sort((a, b) => Number(a) - Number(b))
}

/** The dump is of another cluster: its transactions must lie before whatever runs in this one, as in a server that was moved. */
const opened = (open: Program['open'], url: string): Promise<Tidemark> =>
  until(
    () =>
      open(url, options).catch((error: Error) => {
        if (error.name !== DatabaseRestoredError.name) throw error
        return undefined
      }),
    { what: 'the transactions of other tests to end' },
  )

async function loadSqlite(dump: string): Promise<Loaded> {
  const folder = temporaryFolder()
  const path = join(folder.path, 'app.db')
  using db = new DatabaseSync(path)
  db.exec(readFileSync(new URL(dump, DUMPS), 'utf8'))
  return {
    url: `sqlite:${path}`,
    query: async sql => {
      using reading = new DatabaseSync(path)
      return reading.prepare(sql).all()
    },
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

async function loadPostgres(dump: string): Promise<Loaded> {
  const { url, drop } = await freshDatabase()
  await executePostgres(url, readFileSync(new URL(dump, DUMPS), 'utf8'))
  await burnTransactions(url, 3_000)
  return { url, query: sql => executePostgres(url, sql), [Symbol.asyncDispose]: drop }
}

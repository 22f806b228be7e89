import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { NoSubscriptionsError, PayloadTooLargeError, type Tidemark, TransactionError } from 'tidemark'
import { z } from 'zod'
import { consume } from '../../src/conformance/consuming.ts'
import { SHARED_STORES, type TestDatabase } from '../conformance/stores.ts'

const storeNamed = (wanted: string) => {
  const store = SHARED_STORES.find(({ name }) => name === wanted)
  assert.ok(store)
  return store
}
const connect = ({ url }: TestDatabase): DatabaseSync => new DatabaseSync(url.slice('sqlite:'.length))

/** Like the transaction functions of libraries that can't await. */
function transaction(db: DatabaseSync, work: () => void): void {
  db.exec('begin immediate')
  try {
    work()
    db.exec('commit')
  } catch (error) {
    db.exec('rollback')
    throw error
  }
}

describe('publishSync', () => {
  it('has stored the message when it returns, if and only if the transaction commits', async () => {
    await using database = await storeNamed('SQLite').fresh()
    const tm = await database.open()
    await tm.configureTopic('work')
    using db = connect(database)
    db.exec('create table note (words text)')
    transaction(db, () => {
      const ref = tm.publishSync('work', 'kept', { tx: db, key: 'k', headers: { h: '1' }, messageId: 'm' })
      assert.deepEqual([ref.topic, ref.messageId, ref.duplicate], ['work', 'm', false])
      db.exec(`insert into note values ('kept')`)
    })
    const undo = (): void => {
      tm.publishSync('work', 'undone', { tx: db })
      throw new Error('undone on purpose')
    }
    assert.throws(() => transaction(db, undo), /on purpose/)
    assert.equal((await tm.publish('work', 'again', { messageId: 'm' })).duplicate, true)
    assert.deepEqual(await consume(tm.reader('work'), 1), ['kept'])
    assert.equal(await tm.reader('work').poll(0), null)
  })

  it('creates a missing topic in the transaction', async () => {
    await using database = await storeNamed('SQLite').fresh()
    const tm = await database.open()
    using db = connect(database)
    const publish = (): unknown => tm.publishSync('new', 1, { tx: db })
    assert.throws(() => transaction(db, () => assert.fail(String(publish()))))
    assert.deepEqual(await tm.admin.topics(), [])
    transaction(db, () => void publish())
    assert.deepEqual(await consume(tm.reader('new'), 1), [1])
  })

  it('throws what is wrong before the transaction can commit', async () => {
    await using database = await storeNamed('SQLite').fresh()
    const tm = await database.open()
    await tm.configureTopic('small', { maxMessageBytes: 10 })
    await tm.configureTopic('alone', { semantics: 'pub-sub', blockPublishWithoutSubscription: true })
    using db = connect(database)
    const refused = (topic: string, payload: unknown, error: new (...args: never[]) => Error): void =>
      assert.throws(() => transaction(db, () => void tm.publishSync(topic, payload, { tx: db })), error)
    refused('small', 'x'.repeat(20), PayloadTooLargeError)
    refused('alone', 1, NoSubscriptionsError)
    assert.throws(() => tm.publishSync('small', 1, { tx: db }), TransactionError)
    assert.throws(() => (tm as { publishSync(...args: unknown[]): unknown }).publishSync('small', 1), /publishSync/)
  })

  it('validates with a schema, unless that takes a promise', async () => {
    await using database = await storeNamed('SQLite').fresh()
    const tm: Tidemark = await database.open()
    using db = connect(database)
    const typed = tm.topic('typed', { schema: z.object({ n: z.number() }) })
    const slow = tm.topic('slow', { schema: z.number().refine(async n => n > 0) })
    transaction(db, () => void typed.publishSync({ n: 1 }, { tx: db }))
    const wrong = (): unknown => typed.publishSync({ n: 'one' } as unknown as { n: number }, { tx: db })
    assert.throws(() => transaction(db, () => void wrong()), /typed/)
    assert.throws(() => transaction(db, () => void slow.publishSync(1, { tx: db })), /synchronously/)
    assert.deepEqual(await consume(tm.reader('typed'), 1), [{ n: 1 }])
  })

  it('is refused on PostgreSQL, whose statements are answered later', async () => {
    await using database = await storeNamed('PostgreSQL').fresh()
    const tm = await database.open()
    await tm.configureTopic('work')
    using db = new DatabaseSync(':memory:')
    for (const topic of ['work', 'new']) {
      assert.throws(() => tm.publishSync(topic, 1, { tx: db }), /SQLite only.*await publish/)
    }
  })
})

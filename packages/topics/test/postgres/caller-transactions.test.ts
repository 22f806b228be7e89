import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { range, soon } from '../../src/conformance/consuming.ts'
import { DatabaseLockedError, TopicNotFoundError, TransactionError } from '../../src/index.ts'
import { SHARED_STORES } from '../conformance/stores.ts'

const [postgres] = SHARED_STORES.filter(({ name }) => name === 'PostgreSQL')
const fresh = () => postgres?.fresh() ?? Promise.reject(new Error('There is no PostgreSQL'))

async function connected(url: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ connectionString: url })
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

describe('a publish in a caller’s transaction while tracking is switched', () => {
  it('is never refused, and is stored once', async () => {
    await using database = await fresh()
    const [publishing, switching] = [await database.open(), await database.open()]
    await publishing.configureTopic('events', { semantics: 'pub-sub', tracking: 'reference' })
    await publishing.reader('events', { group: 'g' }).ready()
    await using client = await connected(database.url)
    const switched = { times: 0, over: false }
    const switches = (async () => {
      for (; !switched.over; switched.times++) {
        const to = switched.times % 2 === 0 ? 'offset' : 'reference'
        // A switch gives way to a transaction that is open for long.
        await switching.admin.setTracking('events', to).catch(error => {
          if (!(error instanceof DatabaseLockedError)) throw error
        })
      }
    })()
    let published = 0
    try {
      for (; published < 150 || switched.times < 10; published++) {
        await client.query('begin')
        await publishing.publish('events', published, { tx: client })
        await publishing.publish('events', published, { tx: client, messageId: `m-${published}` })
        await client.query('commit')
      }
    } finally {
      switched.over = true
      await switches
    }
    const stored: string[] = []
    for (let after: number | null = 0; after !== null; ) {
      const { messages, next } = await publishing.admin.browse('events', { after, limit: 1_000 })
      stored.push(...messages.map(({ payload }) => String(payload)))
      after = next
    }
    const expected = range(0, published - 1).flatMap(n => [String(n), String(n)])
    assert.deepEqual(stored.toSorted(), expected.toSorted())
  })

  it('reports a deleted topic as gone, and another database as another', async () => {
    await using database = await fresh()
    await using other = await fresh()
    const [tm, deleting] = [await database.open(), await database.open()]
    for (const tracking of ['offset', 'reference'] as const) {
      await tm.configureTopic('events', { semantics: 'pub-sub', tracking })
      await tm.publish('events', 1)
      await using elsewhere = await connected(other.url)
      await elsewhere.query('begin')
      await assert.rejects(tm.publish('events', 1, { tx: elsewhere }), TransactionError)
      await using client = await connected(database.url)
      await client.query('begin')
      await deleting.admin.deleteTopic('events')
      await assert.rejects(tm.publish('events', 1, { tx: client }), TopicNotFoundError)
    }
  })
})

describe('a messageId published by an open transaction', () => {
  for (const end of ['commit', 'rollback'] as const) {
    it(`is waited for by those that repeat it, and by nobody else (${end})`, async () => {
      await using database = await fresh()
      const tm = await database.open()
      await tm.configureTopic('work')
      await using client = await connected(database.url)
      await client.query('begin')
      const inside = await tm.publish('work', 'inside', { tx: client, messageId: 'm' })
      const repeated = [tm.publish('work', 'outside', { messageId: 'm' })]
      const others = range(1, 60).map(n => tm.publish('work', n, n % 3 === 0 ? { messageId: `m-${n}` } : {}))
      const settled = { repeated: 0 }
      for (const each of repeated) void each.finally(() => settled.repeated++)
      await soon(Promise.all(others), 'the publishes beside it')
      repeated.push(tm.publish('work', 'again', { messageId: 'm' }))
      await soon(tm.publishBatch('work', [61, 62]), 'a batch')
      await soon(tm.publish('work', 63, { messageId: 'm-63' }), 'one with an id of its own')
      assert.equal(settled.repeated, 0, 'who repeats it waits')
      await client.query(end)
      const refs = await soon(Promise.all(repeated), 'the ones that waited')
      const { messages } = await tm.admin.browse('work', { limit: 100 })
      const stored = messages.filter(({ messageId }) => messageId === 'm')
      assert.deepEqual([stored.length, messages.length], [1, 64])
      assert.deepEqual(
        refs.map(({ id }) => id),
        [stored[0]?.id, stored[0]?.id],
      )
      assert.equal(refs.filter(({ duplicate }) => !duplicate).length, end === 'commit' ? 0 : 1)
      if (end === 'commit') assert.equal(stored[0]?.id, inside.id)
    })
  }

  it('does not keep close() from ending', async () => {
    await using database = await fresh()
    const tm = await database.open()
    await tm.configureTopic('work')
    await using client = await connected(database.url)
    await client.query('begin')
    await tm.publish('work', 'inside', { tx: client, messageId: 'm' })
    const refused = assert.rejects(
      tm.publish('work', 'outside', { messageId: 'm' }),
      /open transaction has published the same messageId/,
    )
    await soon(tm.publish('work', 1), 'another publish')
    await soon(tm.close({ timeout: 100 }), 'close() to end')
    await refused
  })
})

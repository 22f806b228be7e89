import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RawMessage } from '../../src/payload/raw-message.ts'
import { SharedRowCache } from '../../src/stores/postgres/row-cache.ts'

const TOPIC = 1
const GROUP = 1
const LIMIT = 2
const row = (id: number, xid: number, payload = `"${id}"`): RawMessage => ({
  ...{ id, salt: 0, xid, payload, type: null, key: null, headers: null, messageId: null, createdAt: 0 },
})

function filled(server: string): SharedRowCache {
  const rows = new SharedRowCache(1_000_000)
  const kept = rows.put(TOPIC, server, [row(1, 700), row(2, 701)])
  rows.putPage(TOPIC, server, `(0,1,2,2,${server})`, kept, LIMIT)
  rows.moved(GROUP, { topicId: TOPIC, lastId: 0, place: '0' })
  return rows
}

describe('rows that the groups of a process share', () => {
  it('are found by id, writing transaction and server incarnation', () => {
    const rows = filled('life-1')
    const found = (server: string, xids: number[]) => rows.rows(TOPIC, server, [1, 2], xids)?.map(({ id }) => id)
    assert.deepEqual(found('life-1', [700, 701]), [1, 2])
    assert.equal(found('life-1', [700, 702]), undefined)
    assert.equal(found('life-2', [700, 701]), undefined)
    assert.equal(found('life-1', []), undefined)
  })

  it('are dropped when something is fetched in another incarnation, including pages', () => {
    const rows = filled('life-1')
    assert.ok(rows.nextPage(TOPIC, GROUP, LIMIT))
    const [fetched] = rows.put(TOPIC, 'life-2', [row(1, 700, '"new"')])
    assert.equal(fetched?.payload, '"new"')
    assert.equal(rows.nextPage(TOPIC, GROUP, LIMIT), undefined)
    assert.equal(rows.rows(TOPIC, 'life-1', [1, 2], [700, 701]), undefined)
    assert.equal(rows.rows(TOPIC, 'life-2', [1, 2], [700, 701]), undefined)
  })

  it('form a page for groups that ask for about as much, or at the end of the log', () => {
    const rows = filled('life-1')
    const sizeFor = (limit: number) => rows.nextPage(TOPIC, GROUP, limit)?.messages.length
    assert.deepEqual([2, 4, 5].map(sizeFor), [2, 2, undefined])
    const kept = rows.put(TOPIC, 'life-1', [row(1, 700), row(2, 701), row(3, 702)])
    rows.putPage(TOPIC, 'life-1', '(0,1,3,3,life-1)', kept, 100)
    assert.deepEqual([2, 4, 100].map(sizeFor), [3, 3, 3])
  })

  it('keep the longest page of a place', () => {
    const rows = filled('life-1')
    rows.putPage(TOPIC, 'life-1', '(0,1,1,1,life-1)', [row(1, 700)], 1)
    assert.equal(rows.nextPage(TOPIC, GROUP, LIMIT)?.messages.length, 2)
  })

  it('are fetched once for groups at one place, and again after that, also if it failed', async () => {
    const rows = filled('life-1')
    const other = 2
    rows.moved(other, { topicId: TOPIC, lastId: 0, place: '0' })
    for (const outcome of [() => Promise.resolve(1), () => Promise.reject(new Error('no answer'))]) {
      const fetching = Promise.allSettled([rows.fetch(TOPIC, GROUP, outcome)])
      assert.ok(rows.fetchAt(TOPIC, other))
      await fetching
      assert.equal(rows.fetchAt(TOPIC, other), undefined)
    }
  })

  it('are dropped with the era, and so are the places of the groups', () => {
    const rows = filled('life-1')
    const { era } = rows
    rows.beginEra()
    assert.notEqual(rows.era, era)
    assert.equal(rows.nextPage(TOPIC, GROUP, LIMIT), undefined)
    assert.equal(rows.isAhead(TOPIC, GROUP), false)
    assert.equal(rows.rows(TOPIC, 'life-1', [1, 2], [700, 701]), undefined)
  })

  it('are dropped once every group has passed them, however much may be cached', () => {
    const rows = new SharedRowCache(1_000_000_000)
    const [slow, fast] = [1, 2]
    const move = (group: number, lastId: number) => rows.moved(group, { topicId: TOPIC, lastId, place: `${lastId}` })
    move(slow, 0)
    for (let first = 1; first < 6_000; first += 1_000) {
      const page = Array.from({ length: 1_000 }, (_, index) => row(first + index, 700))
      rows.putPage(TOPIC, 'life-1', `(${first - 1},)`, rows.put(TOPIC, 'life-1', page), 1_000)
      move(fast, first + 999)
    }
    const isCached = (id: number) => rows.rows(TOPIC, 'life-1', [id], [700]) !== undefined
    assert.ok(rows.nextPage(TOPIC, slow, 1_000) && [1, 6_000].every(isCached))
    move(slow, 1_000)
    move(slow, 3_000)
    assert.deepEqual([1, 2_047, 3_001, 6_000].map(isCached), [false, false, true, true])
    assert.ok(rows.nextPage(TOPIC, slow, 1_000) && rows.isAhead(TOPIC, slow))
    move(slow, 6_000)
    assert.deepEqual([3_001, 5_000].map(isCached), [false, false])
    // Other topics are other ids.
    rows.moved(slow, { topicId: 2, lastId: 0, place: '0' })
  })

  it('are dropped behind a slow group that reads small pages, and once it has left', () => {
    const rows = new SharedRowCache(1_000_000_000)
    const [slow, fast] = [1, 2]
    const move = (group: number, lastId: number) => rows.moved(group, { topicId: TOPIC, lastId, place: `${lastId}` })
    move(slow, 0)
    // A group of another topic keeps nothing of this one.
    rows.moved(3, { topicId: 2, lastId: 0, place: '0' })
    rows.put(
      TOPIC,
      'life-1',
      Array.from({ length: 6_000 }, (_, index) => row(index + 1, 700)),
    )
    move(fast, 5_000)
    for (let lastId = 100; lastId <= 3_000; lastId += 100) move(slow, lastId)
    const isCached = (id: number) => rows.rows(TOPIC, 'life-1', [id], [700]) !== undefined
    assert.deepEqual([1, 2_047, 3_001].map(isCached), [false, false, true])
    rows.forgetReader(slow)
    move(fast, 6_000)
    assert.deepEqual([3_001, 5_000, 6_000].map(isCached), [false, false, true])
  })
})

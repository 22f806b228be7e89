import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type RawMessage, rawMessageBytes } from '../../src/payload/raw-message.ts'
import { RowCache } from '../../src/stores/row-cache.ts'

const row = (id: number): RawMessage => ({
  id,
  payload: `"${id}"`,
  type: null,
  key: null,
  headers: null,
  messageId: null,
  createdAt: 0,
  salt: 1,
})

describe('the row cache', () => {
  it('gives a range across chunks, in order', () => {
    const cache = new RowCache(10_000_000)
    for (let id = 1_000; id <= 3_000; id++) cache.put(row(id))
    const range = cache.range(1_020, 2_100)
    assert.deepEqual(
      range?.map(each => each.id),
      Array.from({ length: 1_081 }, (_, index) => 1_020 + index),
    )
  })

  it('gives no range with a hole', () => {
    const cache = new RowCache(10_000_000)
    for (const id of [1, 2, 4]) cache.put(row(id))
    assert.equal(cache.range(1, 4), undefined)
    assert.equal(cache.range(4, 5), undefined)
    assert.equal(cache.range(0, 1), undefined)
    assert.equal(cache.get(2)?.id, 2)
  })

  it('stays within its bytes, and evicts the oldest first', () => {
    const perRow = rawMessageBytes(row(100_000))
    const cache = new RowCache(perRow * 5_000)
    for (let id = 100_000; id < 120_000; id++) cache.put(row(id))
    const kept = Array.from({ length: 20_000 }, (_, index) => cache.get(100_000 + index)).filter(
      each => each !== undefined,
    )
    assert.ok(kept.length <= 5_000 && kept.length > 3_000, `${kept.length} rows are kept`)
    assert.equal(cache.get(119_999)?.id, 119_999)
    assert.equal(cache.get(100_000), undefined)
  })

  it('is replaced by a fetched row that differs, as after a restore that reuses ids', () => {
    const cache = new RowCache(10_000)
    cache.put(row(7))
    for (const other of [{ createdAt: 1 }, { payload: '"new"' }, { xid: 5 }, { payload: Uint8Array.of(1) }]) {
      const fetched = { ...row(7), ...other }
      assert.equal(cache.put(fetched), fetched)
      assert.equal(cache.get(7), fetched)
    }
    assert.equal(cache.newest?.id, 7)
  })

  it('keeps the row it had: groups share the same object', () => {
    const cache = new RowCache(10_000)
    const first = row(7)
    cache.put(first)
    assert.equal(cache.put(row(7)), first)
    assert.equal(cache.get(7), first)
  })

  it('counts the bytes of what it has, not of what was replaced or dropped', () => {
    const cache = new RowCache(rawMessageBytes(row(1)) * 10)
    cache.put(row(1))
    for (let createdAt = 1; createdAt <= 20; createdAt++) cache.put({ ...row(2_000), createdAt })
    assert.equal(cache.get(1)?.id, 1)
    for (let id = 2; id < 9; id++) cache.put(row(id))
    cache.dropBelow(2_000)
    for (let id = 2_001; id < 2_009; id++) cache.put(row(id))
    assert.equal(cache.get(2_001)?.id, 2_001)
    cache.put(row(3_000))
    cache.put(row(2_009))
    assert.equal(cache.newest?.id, 3_000)
  })
})

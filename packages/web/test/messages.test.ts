import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseExact } from '../src/page/messages/exact-json.ts'
import { filterOf, toQuery } from '../src/page/messages/filter.ts'
import { Follower } from '../src/page/messages/follower.ts'
import { partsOf } from '../src/page/messages/parts-of.ts'
import { bodyOf } from '../src/page/messages/publish-body.ts'
import { hexOf, type StoredMessage, shortType, summaryOf } from '../src/page/messages/stored-message.ts'
import { sizeOf, viewsOf } from '../src/page/messages/views.ts'

const message = (id: number, more: Partial<StoredMessage> = {}): StoredMessage => ({
  id,
  messageId: `m-${id}`,
  key: null,
  type: 'json',
  headers: {},
  createdAt: '2026-11-18T14:02:11.204Z',
  payload: { n: id },
  ...more,
})

describe('a payload', () => {
  it('keeps its numbers as they were written', () => {
    const text = '{"id":9007199254740993,"price":1.10,"n":7,"e":1e400}'
    assert.equal(JSON.stringify(parseExact(text)), text)
    assert.equal(parseExact<{ n: number }>(text).n, 7)
  })

  it('is shown as JSON, as text where it was cut, and as bytes', () => {
    assert.deepEqual(
      viewsOf(message(1)).map(({ name }) => name),
      ['JSON', 'Raw'],
    )
    const binary = message(1, { type: 'bytes', payloadBase64: btoa('\u0000abc'), payload: undefined })
    assert.deepEqual(viewsOf(binary), [{ name: 'Raw', text: `000000  00 61 62 63${' '.repeat(36)}  .abc` }])
    assert.equal(sizeOf(binary), 4)
    const decoded = {
      ...binary,
      type: 'type.example/a.b.BatchInfo',
      decoded: { type: 'a.b.BatchInfo', value: { n: 1 } },
    }
    assert.deepEqual(viewsOf(decoded)[0], { name: 'Decoded', text: '{\n  "n": 1\n}' })
    assert.equal(shortType(decoded), 'BatchInfo')
    assert.deepEqual(viewsOf(message(1, { omittedBytes: 50_000_000 })), [])
  })

  it('is one line in a list, however large it is', () => {
    assert.equal(summaryOf(message(1, { payload: { text: 'x'.repeat(1_000) } })).length, 160)
    assert.match(summaryOf(message(1, { omittedBytes: 50_000_000 })), /^50\.0.MB, too large to list$/)
  })

  it('of any length is cut into parts that lose nothing', () => {
    const text = Array.from({ length: 1_000 }, (_, line) => `line ${line}`).join('\n')
    assert.equal(partsOf(text).join(''), text)
    assert.ok(partsOf(text).length > 3)
    assert.equal(partsOf('x'.repeat(1_000_000)).join('').length, 1_000_000)
    assert.equal(hexOf(new Uint8Array(0)), '')
  })
})

describe('a tail', () => {
  it('counts what comes while somebody reads further up, and shows it afterwards', () => {
    const follower = new Follower([message(1)])
    assert.equal(follower.add(message(2)), true)
    assert.equal(follower.add(message(3)), false)
    assert.deepEqual(
      follower.take().messages.map(({ id }) => id),
      [1, 2, 3],
    )
    follower.isFollowing = false
    for (let id = 4; id < 41; id++) follower.add(message(id))
    const { messages, waiting } = follower.take()
    assert.deepEqual([messages.length, waiting, follower.lastId], [3, 37, 40])
    follower.isFollowing = true
    assert.equal(follower.take().messages.at(-1)?.id, 40)
    assert.equal(follower.now.waiting, 0)
  })

  it('keeps a bounded number', () => {
    const many = new Follower()
    for (let id = 1; id <= 600; id++) many.add(message(id))
    many.take()
    for (let id = 601; id <= 700; id++) many.add(message(id))
    assert.equal(many.take().messages.length, 500)
    const follower = new Follower()
    for (let id = 1; id < 2_000; id++) follower.add(message(id))
    assert.equal(follower.take().messages.length, 500)
  })
})

describe('a filter', () => {
  it('is read from the address, and what is no time is left out', () => {
    const filter = filterOf(new URLSearchParams('key=a%20b&since=nonsense&order=oldest&unknown=1'))
    assert.deepEqual(filter, { order: 'oldest', key: 'a b', type: null, since: null, from: null })
    assert.deepEqual(toQuery(filter), { order: 'oldest-first', key: 'a b' })
  })
})

describe('a message to publish', () => {
  it('is sent with its numbers as they were typed', () => {
    assert.equal(
      bodyOf({ payload: '{"id":9007199254740993}', key: 'k', headers: 'source: by hand\n' }),
      '{"payload":{"id":9007199254740993},"key":"k","headers":{"source":"by hand"}}',
    )
    assert.equal(bodyOf({ payload: '1', key: '', headers: '' }), '{"payload":1}')
  })

  it('is refused with what is wrong', () => {
    assert.throws(() => bodyOf({ payload: '{', key: '', headers: '' }), /The payload is not JSON/)
    assert.throws(() => bodyOf({ payload: '1', key: '', headers: 'nonsense' }), /is no header\. Write name: value/)
  })
})

/** The form in which messages are stored, without a server. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import type { OutgoingMessage } from 'tidemark/store'
import { Entry, MOST_RECORDS } from '../src/entry.ts'
import { encodeEntry, encodeRecord, encodeTexts, isPlainMessage } from '../src/entry-encoding.ts'

const NOTHING = { key: null, type: null, headers: null, messageId: null }
const texts = (...payloads: string[]): OutgoingMessage[] => payloads.map(payload => ({ ...NOTHING, payload }))
const orders = (count: number): OutgoingMessage[] =>
  texts(...Array.from({ length: count }, (_, n) => JSON.stringify({ orderId: n, customer: `customer-${n % 7}` })))

function encode(messages: readonly OutgoingMessage[]): Buffer {
  const isPlain = messages.every(isPlainMessage)
  const records = messages.map(message => encodeRecord(message, isPlain))
  return encodeEntry(records, isPlain, 0.5)
}

const read = (data: Uint8Array): Entry => new Entry({ seq: 3, at: 1, data })

function messagesOf(data: Uint8Array): OutgoingMessage[] {
  const entry = read(data)
  return Array.from({ length: entry.count }, (_, place) => {
    const { key, type, headers, messageId, payload } = entry.message(place) ?? assert.fail(`no message ${place}`)
    return { key, type, headers, messageId, payload }
  })
}

describe('an entry of the log', () => {
  const all: Record<string, readonly OutgoingMessage[]> = {
    'no message': [],
    'one message': texts('1'),
    'empty texts': texts('', '{}', ''),
    'as many messages as there may be': orders(MOST_RECORDS),
    'texts of several bytes a character': texts(...Array.from({ length: 500 }, (_, n) => `"Größe ${n}: 日本 🚢"`)),
    'a long text': texts('x'.repeat(900_000)),
    'fields and bytes': [
      ...orders(100),
      { key: 'k', type: 'application/x', headers: '{"a":"ü"}', messageId: 'id', payload: Uint8Array.of(0, 255) },
      { ...NOTHING, type: 'noise', payload: Uint8Array.from(randomBytes(50_000)) },
    ],
  }
  for (const [what, messages] of Object.entries(all)) {
    it(`gives back ${what}`, () => assert.deepEqual(messagesOf(encode(messages)), messages))
  }

  it('is written at once if it is plain and of one byte a character, with the same content', () => {
    const plain = orders(1_000).map(({ payload }) => String(payload))
    const entry = encodeTexts(plain, 0.5, 1_000_000)
    assert.deepEqual(entry, encode(texts(...plain)))
    assert.equal(encodeTexts([...plain, '"ü"'], 0.5, 1_000_000), undefined)
    assert.equal(encodeTexts(plain, 0.5, 10_000), undefined)
    assert.equal(
      encodeTexts(
        Array.from({ length: MOST_RECORDS + 1 }, () => '1'),
        0.5,
        1_000_000,
      ),
      undefined,
    )
  })

  it('takes a fraction of its messages, and never more than they and their lengths', () => {
    assert.ok(encode(orders(1_000)).length < 8_000)
    const noise = randomBytes(100_000)
    assert.equal(encode([{ ...NOTHING, type: 'noise', payload: noise }]).length, 12 + 4 + 1 + 4 + 5 + noise.length)
  })

  it('is known by its content: what is cut off, continued or altered in length is none', () => {
    for (const whole of [encode(orders(10)), encode(orders(1_000))]) {
      assert.ok(read(whole).count > 0)
      const lied = Buffer.from(whole)
      lied.writeUInt32LE(lied.readUInt32LE(12) + 1, 12)
      const huge = Buffer.from(whole)
      huge.writeUInt32LE(0xffff_ffff, 12)
      const longer = Buffer.concat([whole, Buffer.from('more')])
      for (const data of [whole.subarray(0, -1), whole.subarray(0, 14), whole.subarray(0, 3), lied, huge, longer]) {
        assert.equal(read(data).count, 0)
      }
    }
  })
})

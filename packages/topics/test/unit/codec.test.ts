import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DecodeError } from '../../src/errors.ts'
import { Codec } from '../../src/payload/codec.ts'

it('bytes that are marked as JSON are refused, not delivered as something else', () => {
  const codec = new Codec(undefined)
  const message = { id: 7, payload: Uint8Array.of(1, 2), type: null }
  assert.throws(() => codec.decode(message), DecodeError)
  assert.deepEqual(codec.decode({ ...message, type: 'bytes' }), message.payload)
})

it('bytes are copied: the caller may reuse its buffer', () => {
  const given = Uint8Array.of(1, 2)
  const { payload } = new Codec(undefined).encode(given)
  given[0] = 9
  assert.deepEqual(payload, Uint8Array.of(1, 2))
})

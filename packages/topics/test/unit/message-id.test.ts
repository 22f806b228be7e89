import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { idOfMessageId, messageIdOf } from '../../src/message-id.ts'

const uids = fc.bigInt({ min: 0n, max: (1n << 60n) - 1n })
const ids = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })

describe('a derived messageId', () => {
  it('is a UUID of version 8 that leads back to the id', () => {
    fc.assert(
      fc.property(uids, ids, (uid, id) => {
        const messageId = messageIdOf(uid, id)
        assert.match(messageId, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.equal(idOfMessageId(uid, messageId), id)
      }),
    )
  })

  it('is the same whatever was asked for before', () => {
    const near = fc.oneof(fc.integer({ min: 0, max: 10_000 }), ids)
    fc.assert(
      fc.property(
        fc.uniqueArray(uids, { minLength: 2, maxLength: 2 }),
        fc.array(near, { minLength: 2 }),
        (two, asked) => {
          for (const [index, id] of asked.entries()) {
            const uid = two[index % 2] ?? 0n
            assert.equal(idOfMessageId(uid, messageIdOf(uid, id)), id)
          }
        },
      ),
    )
  })

  it('never changes its form: programs have stored it', () => {
    assert.equal(messageIdOf(0x123456789abcdefn, 1), '12345678-9abc-8def-8000-000000000001')
    assert.equal(messageIdOf(0x123456789abcdefn, 0xfff), '12345678-9abc-8def-8000-000000000fff')
    assert.equal(messageIdOf(0x123456789abcdefn, 0x1000), '12345678-9abc-8def-8000-000000001000')
    assert.equal(messageIdOf(0xfn, Number.MAX_SAFE_INTEGER), '00000000-0000-800f-801f-ffffffffffff')
  })

  it('belongs to its own topic only', () => {
    fc.assert(
      fc.property(uids, uids, ids, (uid, other, id) => {
        fc.pre(uid !== other)
        assert.equal(idOfMessageId(other, messageIdOf(uid, id)), undefined)
      }),
    )
  })

  it('is not found in other texts', () => {
    fc.assert(fc.property(uids, fc.string(), (uid, text) => idOfMessageId(uid, text) === undefined))
    assert.equal(idOfMessageId(1n, messageIdOf(1n, 5).toUpperCase().replace('8', 'x')), undefined)
  })
})

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

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { messageIdOf, parseMessageId } from '../../src/payload/message-id.ts'
import { random52 } from '../../src/payload/random-bits.ts'

const uids = fc.integer({ min: 0, max: 2 ** 52 - 1 })
const salts = fc.integer({ min: 0, max: 2 ** 52 - 1 })
const ids = fc.integer({ min: 1, max: 2 ** 48 - 1 })

describe('a derived messageId', () => {
  it('is a UUID of version 8 that leads back to the id and the salt', () => {
    fc.assert(
      fc.property(uids, salts, ids, (uid, salt, id) => {
        const messageId = messageIdOf(uid, salt, id)
        assert.match(messageId, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.deepEqual(parseMessageId(uid, messageId), { id, salt })
      }),
    )
  })

  it('does not depend on earlier calls', () => {
    const near = fc.oneof(fc.integer({ min: 0, max: 10_000 }), ids)
    fc.assert(
      fc.property(
        fc.uniqueArray(uids, { minLength: 2, maxLength: 2 }),
        fc.uniqueArray(salts, { minLength: 2, maxLength: 2 }),
        fc.array(near, { minLength: 2 }),
        (twoUids, twoSalts, asked) => {
          for (const [index, id] of asked.entries()) {
            const uid = twoUids[index % 2] ?? 0
            const salt = twoSalts[(index >> 1) % 2] ?? 0
            assert.deepEqual(parseMessageId(uid, messageIdOf(uid, salt, id)), { id, salt })
          }
        },
      ),
    )
  })

  it('never changes its form: programs have stored it', () => {
    assert.equal(messageIdOf(0x56789abcdef, 0x123456789abcd, 1), '12345678-9abc-8daf-8def-000000000001')
    assert.equal(messageIdOf(0x56789abcdef, 0x123456789abcd, 0xfff), '12345678-9abc-8daf-8def-000000000fff')
    assert.equal(messageIdOf(0x56789abcdef, 0x123456789abcd, 0x1000), '12345678-9abc-8daf-8def-000000001000')
    assert.equal(messageIdOf(0xf, 1, 2 ** 48 - 1), '00000000-0000-8100-800f-ffffffffffff')
    assert.equal(messageIdOf(0x3fffff, 2 ** 52 - 1, 0), 'ffffffff-ffff-8fff-bfff-000000000000')
  })

  it('differs per publish, even if the id is reused', () => {
    fc.assert(
      fc.property(uids, salts, salts, ids, (uid, salt, other, id) => {
        fc.pre(salt !== other)
        assert.notEqual(messageIdOf(uid, salt, id), messageIdOf(uid, other, id))
      }),
    )
  })

  it('is not accepted for another topic', () => {
    fc.assert(
      fc.property(uids, uids, salts, ids, (uid, other, salt, id) => {
        fc.pre(uid % 2 ** 22 !== other % 2 ** 22)
        assert.equal(parseMessageId(other, messageIdOf(uid, salt, id)), undefined)
      }),
    )
  })

  it('is not found in other texts', () => {
    fc.assert(fc.property(uids, fc.string(), (uid, text) => parseMessageId(uid, text) === undefined))
    assert.equal(parseMessageId(1, messageIdOf(1, 7, 5).toUpperCase().replace('8', 'x')), undefined)
  })
})

describe('random bits', () => {
  it('are 52, of which every one is used', () => {
    let ones = 0
    let zeros = 0
    for (let drawn = 0; drawn < 2_000; drawn++) {
      const value = random52()
      assert.ok(Number.isSafeInteger(value) && value >= 0 && value < 2 ** 52)
      ones = Number(BigInt(ones) | BigInt(value))
      zeros = Number(BigInt(zeros) | (~BigInt.asUintN(52, BigInt(value)) & ((1n << 52n) - 1n)))
    }
    assert.equal(ones, 2 ** 52 - 1)
    assert.equal(zeros, 2 ** 52 - 1)
  })
})

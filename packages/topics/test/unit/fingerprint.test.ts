import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { kindOf } from '../../src/admin/fingerprint.ts'

const errorOf = (message: string): string => kindOf({ name: 'E', message }).error

describe('the kind of an error', () => {
  const SAME: readonly [one: string, other: string, kind: string][] = [
    ["mailbox 'a' full", 'mailbox "b" full', 'mailbox <…> full'],
    ['order 17 is gone', 'order 4711 is gone', 'order <…> is gone'],
    ['connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED 10.0.0.7:80', 'connect ECONNREFUSED <…>'],
    ['no 550e8400-e29b-41d4-a716-446655440000', 'no 0', 'no <…>'],
    ['ids 1, 2, 3 are bad', 'ids 9 are bad', 'ids <…> are bad'],
    ['to anna@example.com: refused', 'to bob@example.com: refused', 'to <…>: refused'],
  ]
  for (const [one, other, kind] of SAME)
    it(`of '${one}' is '${kind}'`, () => {
      assert.equal(errorOf(one), `E: ${kind}`)
      assert.equal(errorOf(other), `E: ${kind}`)
      const fingerprints = [one, other].map(message => kindOf({ name: 'E', message }).fingerprint)
      assert.equal(fingerprints[0], fingerprints[1])
      assert.match(fingerprints[0] ?? '', /^[0-9a-f]{16}$/)
    })

  it('keeps words, and apostrophes inside them', () => {
    assert.equal(errorOf("it can't be, and doesn't"), "E: it can't be, and doesn't")
    assert.equal(errorOf(''), 'E')
  })

  it('tells names apart', () => {
    const [one, other] = ['A', 'B'].map(name => kindOf({ name, message: 'x' }).fingerprint)
    assert.notEqual(one, other)
  })

  it('is found quickly in whatever somebody sends', () => {
    for (const message of ["'".repeat(1e6), '<'.repeat(1e6), '1.'.repeat(5e5), '@'.repeat(1e6), '<…>,'.repeat(2e5)]) {
      assert.ok(errorOf(message).length < 2_000)
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { hash } from '../../src/consume/selection.ts'

describe('the hash that selects a member', () => {
  it('is never negative, so neither is a remainder', () => {
    fc.assert(fc.property(fc.string(), text => hash(text) >= 0 && hash(text) <= 0x7fff_ffff))
  })

  it('spreads keys over members', () => {
    const counts = [0, 0, 0]
    for (let key = 0; key < 3_000; key++) {
      const member = hash(`customer-${key}`) % 3
      counts[member] = (counts[member] ?? 0) + 1
    }
    for (const count of counts) assert.ok(count > 800, counts.join(' '))
  })
})

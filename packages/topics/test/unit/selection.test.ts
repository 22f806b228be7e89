import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { LeasedDelivery } from '../../src/consume/delivery.ts'
import type { Filter } from '../../src/consume/member.ts'
import { hash, passes } from '../../src/consume/selection.ts'
import { MembershipError } from '../../src/errors.ts'

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

it('a filter that returns a promise is refused: a promise would accept everything', () => {
  const delivery = {} as LeasedDelivery<unknown>
  const late = (async () => false) as unknown as Filter<unknown>
  assert.throws(() => passes(late, delivery), MembershipError)
  assert.deepEqual([passes(() => true, delivery), passes(() => false, delivery)], [true, false])
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { InvalidRunIdError, isRunId, makeRunId, parseRunId, requireRunId } from '../src/index.ts'

const UUID = '550e8400-e29b-41d4-a716-446655440000'

describe('a run id', () => {
  it('contains the start of the run, in UTC to the hundredth of a second', () => {
    assert.equal(makeRunId(Date.UTC(2025, 9, 14, 14, 30, 25, 509), UUID), `20251014-14302550-${UUID}`)
  })

  it('is split into its parts, and sorts by time', () => {
    const times = fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(9999, 11, 31) }).map(time => time - (time % 10))
    fc.assert(
      fc.property(times, times, fc.uuid(), (one, other, uuid) => {
        assert.deepEqual(parseRunId(makeRunId(one, uuid)), { startedAt: one, uuid })
        assert.equal(makeRunId(one, uuid) < makeRunId(other, uuid), one < other)
      }),
    )
  })

  it('differs from every other, even of the same moment', () => {
    assert.notEqual(makeRunId(0), makeRunId(0))
  })

  const wrong = [
    '',
    UUID,
    `20251014-143025-${UUID}`,
    `20251014-14302550-${UUID.toUpperCase()}`,
    `20251314-14302550-${UUID}`,
    `20250431-14302550-${UUID}`,
    `20251014-24302550-${UUID}`,
    `20251014-14302550-${UUID}/..`,
    `../20251014-14302550-${UUID}`,
    `20251014-14302550-${UUID}\n`,
    `20251014-14302550-${UUID}\0`,
    42,
    null,
    { toString: () => `20251014-14302550-${UUID}` },
  ]
  for (const value of wrong) {
    it(`is not ${JSON.stringify(value)}`, () => {
      assert.throws(() => requireRunId(value), InvalidRunIdError)
      assert.equal(isRunId(value), false)
    })
  }

  it('is not created from a wrong time or a wrong UUID', () => {
    for (const time of [Number.NaN, Number.POSITIVE_INFINITY, -1e15, 1e15]) {
      assert.throws(() => makeRunId(time), InvalidRunIdError, String(time))
    }
    assert.throws(() => makeRunId(0, '../..'), InvalidRunIdError)
  })
})

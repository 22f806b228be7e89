import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError } from '../../src/errors.ts'
import { parseDuration } from '../../src/options/duration.ts'

describe('a duration', () => {
  it('is a number with a unit, or milliseconds', () => {
    const cases: [unknown, number][] = [
      ['500ms', 500],
      ['30s', 30_000],
      ['1.5m', 90_000],
      ['24h', 86_400_000],
      ['7d', 604_800_000],
      [42, 42],
      [0.2, 1],
      ['1.5ms', 2],
      [0, 0],
    ]
    for (const [given, expected] of cases) assert.equal(parseDuration('lease', given), expected)
  })

  it('is nothing else, and the error names the option and the value', () => {
    for (const wrong of ['', '5', '5 m', '5min', '-1s', -1, Number.NaN, Number.POSITIVE_INFINITY, null, {}, '1e3s']) {
      assert.throws(
        () => parseDuration('lease', wrong),
        (error: unknown) => {
          assert.ok(error instanceof ConfigError)
          assert.equal(error.option, 'lease')
          return true
        },
      )
    }
    assert.throws(() => parseDuration('timeout', '1ms', { min: 5 }), /at least 5 ms/)
  })
})

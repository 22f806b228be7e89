import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { speedsOf } from '../src/page/services/speeds.ts'

describe('the speeds of a simulation', () => {
  it('are parts and multiples of the configured one', () => {
    assert.deepEqual(speedsOf(500), [
      ['¼', 125],
      ['1', 500],
      ['4', 2_000],
      ['16', 8_000],
      ['∞', null],
    ])
  })

  it('start from one that the eye can follow where no limit is configured', () => {
    assert.deepEqual(speedsOf(null)[1], ['1', 25])
  })

  it('are never above what the server takes', () => {
    assert.deepEqual(speedsOf(500_000).slice(2, 4), [
      ['4', 1_000_000],
      ['16', 1_000_000],
    ])
  })
})

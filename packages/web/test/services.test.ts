import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inFlowOrder } from '../src/page/services/flow-order.ts'
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

describe('the services', () => {
  const names = ['indexer', 'persistence', 'simulation', 'retention'].map(name => ({ name }))

  it('are in the order of the flow, and those outside of it come last', () => {
    const edge = { binding: 'b', group: null, perSecond: null, backlog: 0, capacity: null, fill: null }
    const edges = [
      { ...edge, from: 'service:simulation', to: 'queue:ticks' },
      { ...edge, from: 'queue:ticks', to: 'service:persistence' },
      { ...edge, from: 'topic:batches', to: 'service:indexer' },
    ]
    assert.deepEqual(
      inFlowOrder(names, { nodes: [], edges }).map(({ name }) => name),
      ['simulation', 'persistence', 'indexer', 'retention'],
    )
  })

  it('are in the reverse of the order in which they start while the flow is not known', () => {
    assert.deepEqual(
      inFlowOrder(names, null).map(({ name }) => name),
      ['retention', 'simulation', 'persistence', 'indexer'],
    )
  })
})

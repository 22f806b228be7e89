import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Overview } from '../src/page/shapes.ts'
import { searchResults } from '../src/page/shell/search-results.ts'

const overview = {
  topics: [
    { topic: 'orders', kept: 5, publishedPerSecond: 1, groups: [{ group: 'email' }, { group: '' }] },
    { topic: 'reorders.late', kept: 5, publishedPerSecond: 9, groups: [] },
    { topic: 'empty', kept: 0, publishedPerSecond: 0, groups: [] },
  ],
  pipeline: {
    nodes: [
      { kind: 'service', name: 'order-indexer' },
      { kind: 'topic', name: 'order-topic' },
    ],
    edges: [],
  },
} as unknown as Overview
const runs = [{ runId: '20261118-1', seed: 'order-reef' }]

const found = (words: string, here?: string) =>
  searchResults(words, overview, runs, here).map(({ kind, name, of }) => [kind, name, of].filter(Boolean).join(' '))

test('finds topics, groups, services and runs, names that begin with the words first', () => {
  assert.deepEqual(found('ORDER').slice(0, -2), [
    'topic orders',
    'topic reorders.late',
    'service order-indexer',
    'run 20261118-1 seed order-reef',
  ])
  assert.equal(found('mail')[0], 'group email orders')
})

test('offers to look for a key in the busiest topics, or in the one that is looked at', () => {
  assert.deepEqual(found('customer-3'), ['key customer-3 reorders.late', 'key customer-3 orders'])
  assert.deepEqual(found('customer-3', 'orders'), ['key customer-3 orders'])
  const [{ href } = { href: '' }] = searchResults('a&b', overview, runs, 'orders')
  assert.equal(href, '/topics/orders/messages?key=a%26b')
})

test('finds nothing without words', () => {
  assert.deepEqual(found('  '), [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layoutOf } from '../src/page/overview/layout.ts'
import { mainFlow } from '../src/page/overview/main-flow.ts'
import type { Graph, GraphNode } from '../src/page/shapes.ts'

const node = (id: string): GraphNode => ({
  id,
  kind: id.split(':')[0] as GraphNode['kind'],
  name: id.split(':')[1] ?? '',
  state: null,
  healthy: true,
})
const edge = (from: string, to: string) => ({
  from,
  to,
  binding: 'b',
  group: null,
  perSecond: 1,
  backlog: 0,
  fill: null,
})

/** In the order in which services start: what takes comes before what gives. */
const graph: Graph = {
  nodes: [
    'service:indexer',
    'topic:batches',
    'storage:files',
    'index:runs',
    'service:writer',
    'queue:ticks',
    'service:simulation',
  ].map(node),
  edges: [
    edge('topic:batches', 'service:indexer'),
    edge('storage:files', 'service:indexer'),
    edge('service:indexer', 'index:runs'),
    edge('queue:ticks', 'service:writer'),
    edge('service:writer', 'storage:files'),
    edge('service:writer', 'topic:batches'),
    edge('storage:files', 'service:simulation'),
    edge('service:simulation', 'queue:ticks'),
  ],
}

test('leaves out the ways back and what a topic has announced', () => {
  const drawn = mainFlow(graph).edges.map(({ from, to }) => `${from} ${to}`)
  assert.ok(!drawn.includes('storage:files service:simulation'))
  assert.ok(!drawn.includes('storage:files service:indexer'))
  assert.equal(drawn.length, 6)
})

test('places what flows later further to the right', () => {
  const placed = new Map(layoutOf(mainFlow(graph)).nodes.map(({ id, x }) => [id, x]))
  const order = [
    'service:simulation',
    'queue:ticks',
    'service:writer',
    'topic:batches',
    'service:indexer',
    'index:runs',
  ]
  const columns = order.map(id => placed.get(id) ?? Number.NaN)
  assert.deepEqual(
    columns,
    columns.toSorted((one, other) => one - other),
  )
  assert.equal(new Set(columns).size, columns.length)
})

test('ends with a circle, too', () => {
  const circle = {
    nodes: ['service:a', 'service:b'].map(node),
    edges: [edge('service:a', 'service:b'), edge('service:b', 'service:a')],
  }
  assert.equal(layoutOf(circle).nodes.length, 2)
})

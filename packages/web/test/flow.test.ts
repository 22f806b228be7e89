import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dotsFor } from '../src/page/overview/dot-rate.ts'
import { layoutOf, NODE } from '../src/page/overview/layout.ts'
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
  capacity: null,
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

test('leaves out edges back and what a topic has announced', () => {
  const drawn = mainFlow(graph).edges.map(({ from, to }) => `${from} ${to}`)
  assert.ok(!drawn.includes('storage:files service:simulation'))
  assert.ok(!drawn.includes('storage:files service:indexer'))
  assert.equal(drawn.length, 6)
})

test('places what flows later further to the right', () => {
  const placed = new Map(layoutOf(mainFlow(graph), 1_200).nodes.map(({ id, x }) => [id, x]))
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

test('terminates with a cycle', () => {
  const circle = {
    nodes: ['service:a', 'service:b'].map(node),
    edges: [edge('service:a', 'service:b'), edge('service:b', 'service:a')],
  }
  assert.equal(layoutOf(circle, 1_200).nodes.length, 2)
})

const ROOMS = [280, 304, 740, 1_160, 2_000]

test('fits into every width, and lays no node upon another', () => {
  for (const room of ROOMS) {
    const { nodes, width, height } = layoutOf(mainFlow(graph), room)
    assert.ok(width <= room, `${width} is wider than ${room}`)
    for (const { x, y, width: own } of nodes) {
      assert.ok(x >= 0 && x + own <= room + 1 && y >= 0 && y + NODE.height <= height + 1, `out of ${room}`)
    }
    for (const [index, one] of nodes.entries()) {
      for (const other of nodes.slice(index + 1)) {
        const isApart = Math.abs(one.x - other.x) >= one.width || Math.abs(one.y - other.y) >= NODE.height
        assert.ok(isApart, `${one.id} lies upon ${other.id} in ${room}`)
      }
    }
  }
})

test('gives a step with a long name the room that others do not need', () => {
  const chain = ['service:simulation', 'queue:ticks', 'service:metadata-persistence', 'topic:batches', 'index:runs']
  const edges = chain.slice(1).map((id, index) => edge(chain[index] ?? '', id))
  const widthIn = (room: number): ReadonlyMap<string, number> =>
    new Map(layoutOf({ nodes: chain.map(node), edges }, room).nodes.map(({ name, width }) => [name, width]))
  const enough = widthIn(960)
  assert.ok((enough.get('metadata-persistence') ?? 0) > 184, `${enough.get('metadata-persistence')}`)
  assert.ok((enough.get('ticks') ?? 0) < 170, `${enough.get('ticks')}`)
  assert.equal(new Set(widthIn(850).values()).size, 1, 'all are equally wide where names do not fit anyway')
})

test('divides a step that is too wide into rows of the same length', () => {
  const rows = Map.groupBy(layoutOf(wide(5), 640).nodes, ({ y }) => y)
  assert.deepEqual(
    [...rows.values()].map(({ length }) => length),
    [1, 1, 1, 1, 3, 2],
  )
})

/** Four services in a row, the last of which feeds this many. */
function wide(count: number): Graph {
  const chain = [1, 2, 3, 4].map(number => `service:${number}`)
  const fed = Array.from({ length: count }, (_, index) => `service:fed-${index}`)
  const steps = chain.slice(1).map((id, index) => edge(chain[index] ?? '', id))
  return { nodes: [...chain, ...fed].map(node), edges: [...steps, ...fed.map(id => edge('service:4', id))] }
}

test('places what nothing flows into right before what it feeds', () => {
  const late: Graph = {
    nodes: [...graph.nodes, node('service:reconciler')],
    edges: [...graph.edges, edge('service:reconciler', 'topic:batches')],
  }
  const placed = new Map(layoutOf(mainFlow(late), 1_200).nodes.map(({ id, x }) => [id, x]))
  assert.equal(placed.get('service:reconciler'), placed.get('service:writer'))
})

test('lets a dot stand for one message up to ten a second, and then for ten or a hundred', () => {
  assert.deepEqual(dotsFor(0), { dotsPerSecond: 0, each: 1 })
  assert.deepEqual(dotsFor(0.5), { dotsPerSecond: 0.5, each: 1 })
  assert.deepEqual(dotsFor(10), { dotsPerSecond: 10, each: 1 })
  assert.deepEqual(dotsFor(500), { dotsPerSecond: 5, each: 100 })
})

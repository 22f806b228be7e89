import type { Graph, GraphNode } from '../shapes.ts'

export const NODE = { width: 184, height: 46, gapX: 64, gapY: 16 } as const

export type Placed = GraphNode & { readonly x: number; readonly y: number }

export type Layout = { readonly nodes: readonly Placed[]; readonly width: number; readonly height: number }

/** Columns by the longest path from a source, rows in the order of the neighbours before them. */
export function layoutOf({ nodes, edges }: Graph): Layout {
  const depth = new Map(nodes.map(({ id }) => [id, 0]))
  // As many rounds as there are nodes: no path is longer, and cycles end too.
  for (let round = 0; round < nodes.length; round++) {
    let hasMoved = false
    for (const { from, to } of edges) {
      const wanted = (depth.get(from) ?? 0) + 1
      if (wanted > (depth.get(to) ?? 0) && wanted < nodes.length) {
        depth.set(to, wanted)
        hasMoved = true
      }
    }
    if (!hasMoved) break
  }
  const columns = [...Map.groupBy(nodes, ({ id }) => depth.get(id) ?? 0)].sort(([one], [other]) => one - other)
  const rows = new Map<string, number>()
  const placed: Placed[] = []
  const tallest = Math.max(1, ...columns.map(([, column]) => column.length))
  const height = tallest * (NODE.height + NODE.gapY) - NODE.gapY
  for (const [index, [, column]] of columns.entries()) {
    const sorted = column.toSorted((one, other) => place(one.id, edges, rows) - place(other.id, edges, rows))
    const top = (height - (sorted.length * (NODE.height + NODE.gapY) - NODE.gapY)) / 2
    for (const [row, node] of sorted.entries()) {
      const y = top + row * (NODE.height + NODE.gapY)
      rows.set(node.id, y)
      placed.push({ ...node, x: index * (NODE.width + NODE.gapX), y })
    }
  }
  return { nodes: placed, width: columns.length * (NODE.width + NODE.gapX) - NODE.gapX, height }
}

function place(id: string, edges: Graph['edges'], rows: ReadonlyMap<string, number>): number {
  const before = edges.filter(({ to }) => to === id).flatMap(({ from }) => rows.get(from) ?? [])
  return before.length === 0 ? 0 : before.reduce((sum, row) => sum + row, 0) / before.length
}

import type { Graph, GraphEdge, GraphNode } from '../shapes.ts'

/** Sizes in pixels. The drawing is never scaled, so that its texts stay legible: it is laid out anew for each width. */
export const NODE = { narrowest: 136, width: 144, widest: 240, height: 52, padding: 20, letter: 8.25 } as const
const GAP = { across: 32, between: 12, down: 40 } as const
/** Space between nodes side by side, where lines pass. */
const GUTTER = 20

export type Placed = GraphNode & { readonly x: number; readonly y: number; readonly width: number }
export type Way = { readonly edge: GraphEdge; readonly path: string; readonly label: readonly [number, number] | null }

export type Layout = {
  readonly nodes: readonly Placed[]
  readonly ways: readonly Way[]
  readonly width: number
  readonly height: number
}

/** From left to right if there is room for all steps, otherwise from top to bottom. */
export function layoutOf(graph: Graph, room: number): Layout {
  const steps = stepsOf(graph)
  const needed = steps.length * (NODE.width + GAP.across) - GAP.across
  return needed <= room ? across(graph, steps, room) : down(graph, steps, room)
}

/**
 * Steps by the longest path from a source. A node without inputs is placed right before the node it feeds, so that no
 * line crosses half of the drawing. Within a step, nodes are in the order of their neighbours.
 */
function stepsOf({ nodes, edges }: Graph): readonly (readonly GraphNode[])[] {
  const depth = new Map(nodes.map(({ id }) => [id, 0]))
  // As many rounds as there are nodes: a longest way is no longer, and a circle ends too.
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
  for (const { id } of nodes) {
    if (edges.some(({ to }) => to === id)) continue
    const next = edges.filter(({ from }) => from === id).map(({ to }) => depth.get(to) ?? 0)
    if (next.length > 0) depth.set(id, Math.max(0, Math.min(...next) - 1))
  }
  const steps = [...Map.groupBy(nodes, ({ id }) => depth.get(id) ?? 0)]
    .sort(([one], [other]) => one - other)
    .map(([, step]) => step)
  return untangled(steps, edges)
}

/** Nodes move towards the middle of their neighbours, back and forth a few times, which leaves few crossings. */
function untangled(
  given: readonly (readonly GraphNode[])[],
  edges: readonly GraphEdge[],
): readonly (readonly GraphNode[])[] {
  const steps = given.map(step => [...step])
  const places = new Map<string, number>()
  const note = (step: readonly GraphNode[]): void => {
    for (const [row, { id }] of step.entries()) places.set(id, row - (step.length - 1) / 2)
  }
  for (const step of steps) note(step)
  for (let round = 0; round < 4; round++) {
    const isForward = round % 2 === 0
    for (const step of isForward ? steps : steps.toReversed()) {
      const middle = ({ id }: GraphNode): number => {
        const near = edges.flatMap(({ from, to }) => {
          if (isForward) return to === id ? [places.get(from) ?? 0] : []
          return from === id ? [places.get(to) ?? 0] : []
        })
        return near.length === 0 ? (places.get(id) ?? 0) : near.reduce((sum, each) => sum + each, 0) / near.length
      }
      step.sort((one, other) => middle(one) - middle(other))
      note(step)
    }
  }
  return steps
}

function across(graph: Graph, steps: readonly (readonly GraphNode[])[], room: number): Layout {
  const widths = widthsOf(steps, room - (steps.length - 1) * GAP.across)
  const taken = sum(widths)
  const gap = steps.length === 1 ? 0 : Math.min(170, Math.floor((room - taken) / (steps.length - 1)))
  const tallest = Math.max(1, ...steps.map(step => step.length))
  const height = tallest * (NODE.height + GAP.between) - GAP.between
  const nodes = steps.flatMap((step, index) => {
    const top = (height - (step.length * (NODE.height + GAP.between) - GAP.between)) / 2
    const x = sum(widths.slice(0, index)) + index * gap
    return step.map(
      (node, row): Placed => ({ ...node, x, y: top + row * (NODE.height + GAP.between), width: widths[index] ?? 0 }),
    )
  })
  const placeOf = new Map(nodes.map(node => [node.id, node]))
  const ways = graph.edges.flatMap((edge): Way[] => {
    const [from, to] = [placeOf.get(edge.from), placeOf.get(edge.to)]
    if (from === undefined || to === undefined) return []
    const [x1, y1, x2, y2] = [from.x + from.width, from.y + NODE.height / 2, to.x, to.y + NODE.height / 2]
    const bend = Math.max(16, (x2 - x1) / 2)
    const label = y1 === y2 && x2 - x1 >= 44 && isAlone(edge, graph.edges) ? ([(x1 + x2) / 2, y1 - 8] as const) : null
    return [{ edge, label, path: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` }]
  })
  return { nodes, ways, width: taken + (steps.length - 1) * gap, height }
}

/**
 * A step is as wide as its longest name needs, and all share what is left. With the same width for all, names were
 * shortened beside nodes that were half empty. Where there is not enough for the names, all are equally wide.
 */
function widthsOf(steps: readonly (readonly GraphNode[])[], free: number): readonly number[] {
  const needed = steps.map(step => {
    const longest = Math.max(...step.map(({ name }) => name.length))
    return Math.min(NODE.widest, Math.max(NODE.narrowest, NODE.padding + longest * NODE.letter))
  })
  const left = free - sum(needed)
  if (left < 0) return steps.map(() => Math.floor(free / steps.length))
  return needed.map(width => Math.min(NODE.widest, Math.floor(width + left / steps.length)))
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

/** Whether no other line begins or ends where this one does: a label beside it would be crossed. */
const isAlone = ({ from, to }: GraphEdge, edges: readonly GraphEdge[]): boolean =>
  edges.filter(each => each.from === from || each.to === to).length === 1

/** A step that is too wide continues in the next row; lines reach those rows through the gaps, never across a node. */
function down(graph: Graph, steps: readonly (readonly GraphNode[])[], room: number): Layout {
  const fits = Math.max(1, Math.floor((room + GUTTER) / (NODE.narrowest + GUTTER)))
  // Rows of a step are equally long: five nodes with room for four are three and two.
  const columnsOf = ({ length }: readonly GraphNode[]): number => Math.ceil(length / Math.ceil(length / fits))
  const widest = Math.max(1, ...steps.map(columnsOf))
  const width = Math.min(NODE.widest, Math.floor((room - (widest - 1) * GUTTER) / widest))
  const nodes: (Placed & { readonly isFirst: boolean })[] = []
  let y = 0
  for (const step of steps) {
    const columns = columnsOf(step)
    const left = (room - (columns * (width + GUTTER) - GUTTER)) / 2
    for (const [index, node] of step.entries()) {
      const [column, row] = [index % columns, Math.floor(index / columns)]
      const top = y + row * (NODE.height + GAP.between)
      nodes.push({ ...node, x: left + column * (width + GUTTER), y: top, width, isFirst: row === 0 })
    }
    y += Math.ceil(step.length / columns) * (NODE.height + GAP.between) - GAP.between + GAP.down
  }
  const placeOf = new Map(nodes.map(node => [node.id, node]))
  const gutterBeside = ({ x }: Placed): number =>
    x + width / 2 < room / 2 - 1 ? x + width + GUTTER / 2 : x - GUTTER / 2
  const ways = graph.edges.flatMap((edge): Way[] => {
    const [from, to] = [placeOf.get(edge.from), placeOf.get(edge.to)]
    if (from === undefined || to === undefined) return []
    const [x1, y1, x2, y2] = [from.x + width / 2, from.y + NODE.height, to.x + width / 2, to.y]
    const isFree = !nodes.some(({ y: other }) => other > from.y && other < to.y)
    if (isFree) return [{ edge, label: null, path: `M${x1} ${y1}${bentDown(x1, y1, x2, y2)}` }]
    if (to.isFirst) {
      const [gutter, below] = [gutterBeside(from), y2 - GAP.down + 4]
      const path = `M${x1} ${y1}${bentDown(x1, y1, gutter, y1 + 12)}V${below}${bentDown(gutter, below, x2, y2)}`
      return [{ edge, label: null, path }]
    }
    const [gutter, middle] = [gutterBeside(to), y2 + NODE.height / 2]
    const side = gutter > to.x ? to.x + width : to.x
    const path = `M${x1} ${y1}${bentDown(x1, y1, gutter, y1 + GAP.down)}V${middle - 6}Q${gutter} ${middle} ${side} ${middle}`
    return [{ edge, label: null, path }]
  })
  return { nodes, ways, width: room, height: Math.max(0, y - GAP.down) }
}

function bentDown(x1: number, y1: number, x2: number, y2: number): string {
  const bend = Math.max(6, (y2 - y1) / 2)
  return `C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`
}

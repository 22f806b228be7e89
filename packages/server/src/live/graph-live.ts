import type { PipelineGraph } from '@tidemark/pipeline'
import type { GraphEdgeLive, GraphLive, TopicLive } from './shapes.ts'

/** Rates of the pipeline's edges: differences of counters over several reads. */
const RATE_WINDOW_MS = 5_000

type Sample = { readonly at: number; readonly passed: ReadonlyMap<string, number> }

export class GraphRates {
  readonly #samples: Sample[] = []

  add(graph: PipelineGraph, topics: readonly TopicLive[], at = Date.now()): GraphLive {
    const nameOf = (edge: PipelineGraph['edges'][number]): string => `${edge.from} ${edge.to} ${edge.binding}`
    const passed = new Map(
      graph.edges.flatMap(edge => (edge.passed === null ? [] : [[nameOf(edge), edge.passed] as const])),
    )
    while (this.#samples.length > 1 && (this.#samples[1]?.at ?? at) <= at - RATE_WINDOW_MS) this.#samples.shift()
    const before = this.#samples[0]
    this.#samples.push({ at, passed })
    const edges = graph.edges.map((edge): GraphEdgeLive => {
      const earlier = before?.passed.get(nameOf(edge))
      const isKnown = edge.passed !== null && earlier !== undefined && before !== undefined && at > before.at
      const gained = isKnown ? Math.max(0, (edge.passed ?? 0) - earlier) : null
      return {
        ...edge,
        perSecond: gained === null || before === undefined ? null : (gained / (at - before.at)) * 1_000,
        backlog: backlogOf(edge, topics),
      }
    })
    return { nodes: graph.nodes, edges }
  }
}

/** Items waiting in a queue, or messages waiting for the group of an edge. A run has its own topics: `<name>.<run id>`. */
function backlogOf({ from, group, backlog }: PipelineGraph['edges'][number], topics: readonly TopicLive[]): number {
  if (group === null) return backlog ?? 0
  const name = from.slice('topic:'.length)
  return topics
    .filter(({ topic }) => topic === name || topic.startsWith(`${name}.`))
    .flatMap(({ groups }) => groups)
    .filter(each => each.group === group)
    .reduce((sum, { lagMessages }) => sum + lagMessages, 0)
}

import type { Graph, GraphEdge } from '../shapes.ts'

/**
 * The edges worth drawing. Services are listed in the order in which they start, so the first of the flow stands last.
 * Left out are edges back (a simulation that reads the storage to find where it stopped) and what a service fetches
 * from the storage once a topic has announced it.
 */
export function mainFlow({ nodes, edges }: Graph): Graph {
  const services = nodes.filter(({ kind }) => kind === 'service').map(({ id }) => id)
  const rank = new Map(services.toReversed().map((id, index) => [id, index]))
  const writers = (resource: string): number[] =>
    edges.filter(({ to }) => to === resource).map(({ from }) => rank.get(from) ?? 0)
  const readsTopic = new Set(edges.filter(({ from }) => from.startsWith('topic:')).map(({ to }) => to))
  const isDrawn = ({ from, to }: GraphEdge): boolean => {
    if (!rank.has(to)) return true
    if (from.startsWith('storage:') && readsTopic.has(to)) return false
    const written = writers(from)
    return written.length === 0 || Math.min(...written) < (rank.get(to) ?? 0)
  }
  const drawn = edges.filter(isDrawn)
  const linked = new Set(drawn.flatMap(({ from, to }) => [from, to]))
  return { nodes: nodes.filter(({ id }) => linked.has(id)), edges: drawn }
}

import type { Graph } from '../shapes.ts'

/**
 * Services in the order of the flow: they start from its end, so that whatever is made has a taker. Those outside of the
 * flow, such as the retention, come last.
 */
export function inFlowOrder<T extends { readonly name: string }>(services: readonly T[], graph: Graph | null): T[] {
  const linked = new Set(graph?.edges.flatMap(({ from, to }) => [from, to]))
  const isOutside = ({ name }: T): number => (graph === null || linked.has(`service:${name}`) ? 0 : 1)
  return services.toReversed().sort((one, other) => isOutside(one) - isOutside(other))
}

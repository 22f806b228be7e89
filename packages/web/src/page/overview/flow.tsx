import { useMemo } from 'preact/hooks'
import { count, rate } from '../format.ts'
import { type Kind, kindOfService } from '../parts/mark.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'
import type { Graph, GraphEdge } from '../shapes.ts'
import { layoutOf, NODE, type Placed } from './layout.ts'
import { mainFlow } from './main-flow.ts'

/** The pipeline as a flow: dots move along an edge at its real rate, and the width of an edge shows its backlog. */
export function Flow({ graph: whole }: { graph: Graph }) {
  const graph = mainFlow(whole)
  const shape = graph.nodes.map(({ id }) => id).join()
  const layout = useMemo(() => layoutOf(graph), [shape, graph.edges.length])
  const placeOf = new Map(layout.nodes.map(node => [node.id, node]))
  const state = new Map(graph.nodes.map(node => [node.id, node]))
  return (
    <ScrollBox label="Pipeline, drawn">
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing with links in it is no fieldset */}
      <svg
        class="flow"
        viewBox={`-4 -4 ${layout.width + 8} ${layout.height + 8}`}
        width={layout.width + 8}
        height={layout.height + 8}
        role="group"
        aria-label={describe(graph)}
      >
        {graph.edges.map(edge => {
          const [from, to] = [placeOf.get(edge.from), placeOf.get(edge.to)]
          return from && to ? (
            <Edge key={`${edge.from} ${edge.to} ${edge.binding}`} edge={edge} from={from} to={to} />
          ) : null
        })}
        {layout.nodes.map(node => (
          <Node key={node.id} node={{ ...node, ...(state.get(node.id) ?? node) }} edges={graph.edges} />
        ))}
      </svg>
    </ScrollBox>
  )
}

function Edge({ edge, from, to }: { edge: GraphEdge; from: Placed; to: Placed }) {
  const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2]
  const [x2, y2] = [to.x, to.y + NODE.height / 2]
  const bend = Math.max(30, (x2 - x1) / 2)
  const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`
  const perSecond = edge.perSecond ?? 0
  const width = 1.5 + Math.min(7, Math.log2(1 + edge.backlog))
  // Above two per second the eye sees a stream, whatever the number.
  const dots = perSecond === 0 ? 0 : perSecond < 2 ? 1 : perSecond < 50 ? 2 : 4
  const takes = Math.min(4, Math.max(0.8, 2 / Math.max(0.5, Math.log10(1 + perSecond) + 0.4)))
  return (
    <g class={edge.backlog > 100 ? 'flow-edge flow-dammed' : 'flow-edge'}>
      <path d={path} fill="none" stroke="currentColor" stroke-width={width} stroke-linecap="round">
        <title>{`${edge.binding}: ${rate(perSecond)}/s${edge.backlog > 0 ? `, ${count(edge.backlog)} waiting` : ''}`}</title>
      </path>
      {Array.from({ length: dots }, (_, index) => (
        <circle key={`${index} ${dots}`} r="3" class="flow-dot">
          <animateMotion
            {...{ path }}
            dur={`${takes.toFixed(1)}s`}
            begin={`${((index / dots) * -takes).toFixed(2)}s`}
            repeatCount="indefinite"
          />
        </circle>
      ))}
    </g>
  )
}

function Node({ node, edges }: { node: Placed; edges: readonly GraphEdge[] }) {
  const kind: Kind =
    node.kind === 'service'
      ? node.healthy
        ? kindOfService(node.state ?? '')
        : 'warning'
      : node.healthy
        ? 'off'
        : 'bad'
  const fill =
    node.kind === 'queue' ? (edges.find(({ from, to }) => from === node.id || to === node.id)?.fill ?? null) : null
  const moved = edges
    .filter(({ from, to }) => from === node.id || to === node.id)
    .map(({ perSecond }) => perSecond ?? 0)
  const body = (
    <g transform={`translate(${node.x} ${node.y})`} class={`flow-node flow-${node.kind} flow-state-${kind}`}>
      <rect width={NODE.width} height={NODE.height} rx={node.kind === 'service' ? 8 : 22} />
      {fill !== null && <rect class="flow-fill" width={NODE.width * fill} height={NODE.height} rx={22} />}
      <text x="14" y="19" class="flow-name">
        {node.name.length > 21 ? `${node.name.slice(0, 20)}…` : node.name}
      </text>
      <text x="14" y="36" class="flow-says">
        {saysOf(node, fill, Math.max(0, ...moved))}
      </text>
    </g>
  )
  const href = hrefOf(node)
  return href === undefined ? body : <a href={href}>{body}</a>
}

function saysOf({ kind, state }: Placed, fill: number | null, perSecond: number): string {
  if (kind === 'service') return `${(state ?? '').toLowerCase()}${perSecond > 0 ? ` · ${rate(perSecond)}/s` : ''}`
  if (fill !== null) return `queue · ${Math.round(fill * 100)} %`
  return kind
}

function hrefOf({ kind, name }: Placed): string | undefined {
  if (kind === 'service') return `/services/${encodeURIComponent(name)}`
  if (kind === 'topic') return `/topics?q=${encodeURIComponent(name)}`
  return kind === 'index' ? '/runs' : undefined
}

const describe = ({ nodes }: Graph): string =>
  `Pipeline: ${nodes
    .filter(({ kind }) => kind === 'service')
    .map(({ name, state }) => `${name} ${(state ?? '').toLowerCase()}`)
    .join(', ')}`

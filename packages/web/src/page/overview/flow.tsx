import { useMemo, useRef } from 'preact/hooks'
import { topicAddress } from '../address.ts'
import { bytes, count, rate, whole } from '../format.ts'
import { get } from '../http.ts'
import { overview } from '../live.ts'
import { useLoaded } from '../parts/load.ts'
import { type Kind, kindOfService, SHAPES } from '../parts/mark.tsx'
import { Sparkline } from '../parts/sparkline.tsx'
import { useWidth } from '../parts/use-width.ts'
import type { PipelineStatus } from '../services/service-shapes.ts'
import type { Graph, GraphEdge, Overview } from '../shapes.ts'
import { dotsFor } from './dot-rate.ts'
import { Dots } from './dots.tsx'
import { FlowMemory } from './flow-memory.ts'
import { layoutOf, NODE, type Placed, type Way } from './layout.ts'
import { mainFlow } from './main-flow.ts'
import { figuresOf, NO_FIGURES, type NodeFigures } from './node-figures.ts'

const REFRESH_MS = 2_000

/** Also while another screen is shown. */
const memory = new FlowMemory()

/** The pipeline as a flow: dots move along a line at its real rate, and the width of a line shows its backlog. */
export function Flow({ graph: whole }: { graph: Graph }) {
  const graph = mainFlow(whole)
  const place = useRef<HTMLElement>(null)
  const room = useWidth(place).value
  const shape = `${graph.nodes.map(({ id }) => id).join()} ${graph.edges.length} ${room}`
  const layout = useMemo(() => layoutOf(graph, Math.max(280, room)), [shape])
  const status = useLoaded(signal => get<PipelineStatus>('/pipeline', { signal }), [], REFRESH_MS).value.value
  const figures = useMemo(() => (status === undefined ? NO_FIGURES : figuresOf(status)), [status])
  const between = graph.nodes.filter(({ kind }) => kind === 'topic' || kind === 'queue')
  memory.add(overview.value?.at ?? '', new Map(between.map(({ id }) => [id, fastest(id, graph.edges)])))
  const nodeOf = new Map(graph.nodes.map(node => [node.id, node]))
  const edgeOf = new Map(graph.edges.map(edge => [nameOf(edge), edge]))
  return (
    <figure ref={place} class="flow" aria-label={describe(graph)} style={{ height: `${layout.height + 4}px` }}>
      {room > 0 && (
        <>
          <svg class="flow-lines" width={layout.width} height={layout.height + 4} aria-hidden="true">
            {layout.ways.map(way => (
              <Edge key={nameOf(way.edge)} way={way} edge={edgeOf.get(nameOf(way.edge)) ?? way.edge} />
            ))}
          </svg>
          {layout.nodes.map(node => (
            <Node
              key={node.id}
              node={{ ...node, ...(nodeOf.get(node.id) ?? node) }}
              edges={graph.edges}
              figures={figures}
            />
          ))}
        </>
      )}
    </figure>
  )
}

const nameOf = ({ from, to, binding }: GraphEdge): string => `${from} ${to} ${binding}`

function Edge({ way: { path, label }, edge }: { way: Way; edge: GraphEdge }) {
  const perSecond = edge.perSecond ?? 0
  const width = 1.5 + Math.min(10, Math.log2(1 + edge.backlog))
  const { each } = dotsFor(perSecond)
  const tip = [
    `${edge.binding}: ${edge.perSecond === null ? 'rate not known' : `${rate(perSecond)}/s`}`,
    ...(edge.backlog > 0 ? [`${whole(edge.backlog)} waiting`] : []),
    ...(each > 1 ? [`one dot: ${whole(each)} messages`] : []),
  ].join('\n')
  return (
    <g class={edge.backlog > 100 ? 'flow-edge dammed' : 'flow-edge'} data-tip={tip}>
      <path d={path} class="flow-reach" />
      <path d={path} class="flow-line" stroke-width={width} />
      <Dots path={path} perSecond={perSecond} />
      {label !== null && perSecond > 0 && (
        <text x={label[0]} y={label[1]} class="flow-rate">
          {rate(perSecond)}/s
        </text>
      )}
    </g>
  )
}

function Node({ node, edges, figures }: { node: Placed; edges: readonly GraphEdge[]; figures: NodeFigures }) {
  const found = overview.value
  const fill =
    node.kind === 'queue' ? (edges.find(({ from, to }) => from === node.id || to === node.id)?.fill ?? null) : null
  const kind = kindOf(node)
  const says = saysOf(node, fill, fastest(node.id, edges), found, figures)
  const rates = memory.of(node.id)
  return (
    <a
      class={`flow-node flow-${node.kind} flow-is-${kind}${fill !== null && fill > 0.9 ? ' flow-full' : ''}`}
      href={hrefOf(node, found)}
      style={{ left: `${node.x}px`, top: `${node.y}px`, width: `${node.width}px`, height: `${NODE.height}px` }}
      title={`${node.kind} ${node.name}`}
    >
      {fill !== null && <span class="flow-fill" style={{ width: `${fill * 100}%` }} />}
      {rates.length > 1 && (
        <span class="flow-spark" aria-hidden="true">
          <Sparkline values={rates} says="" />
        </span>
      )}
      <span class="flow-name truncate">{node.name}</span>{' '}
      <span class="flow-says truncate">
        <svg width="12" height="12" viewBox="0 0 12 12" class="flow-mark" aria-hidden="true">
          {node.kind === 'service' || kind === 'bad' ? SHAPES[kind] : <path d={GLYPHS[node.kind]} class="flow-glyph" />}
        </svg>
        {says}
      </span>
    </a>
  )
}

const GLYPHS: { readonly [kind in Placed['kind']]: string } = {
  service: '',
  queue: 'M1 3v6M4 3v6M7 3v6M10 3v6',
  topic: 'M1 3q2.5-2 5 0t5 0M1 6.5q2.5-2 5 0t5 0M1 10q2.5-2 5 0t5 0',
  storage: 'M1.5 3q4.5-3 9 0v6q-4.5 3-9 0ZM1.5 3q4.5 3 9 0',
  index: 'M5 1.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M8 8l3 3',
}

function kindOf({ kind, state, healthy }: Placed): Kind {
  if (kind !== 'service') return healthy ? 'off' : 'bad'
  return healthy || state === 'ERROR' ? kindOfService(state ?? '') : 'warning'
}

const fastest = (id: string, edges: readonly GraphEdge[]): number =>
  Math.max(0, ...edges.filter(({ from, to }) => from === id || to === id).map(({ perSecond }) => perSecond ?? 0))

function saysOf(
  node: Placed,
  fill: number | null,
  perSecond: number,
  found: Overview | undefined,
  { ticks, sizes }: NodeFigures,
): string {
  const moved = perSecond > 0 ? `${rate(perSecond)}/s` : ''
  const tick = ticks.get(node.id)
  if (node.kind === 'service' && tick !== undefined)
    return `${whole(tick)}\u202ft · ${node.state === 'RUNNING' && moved !== '' ? moved : (node.state ?? '').toLowerCase()}`
  if (node.kind === 'service')
    return node.state === 'RUNNING' && moved !== '' ? moved : (node.state ?? '').toLowerCase().replaceAll('_', ' ')
  if (fill !== null) return `queue · ${Math.round(fill * 100)} %`
  const size = sizes.get(node.id)
  if (size !== undefined) return bytes(size)
  if (node.kind === 'index' && found?.newestRun?.bytes != null) return `index · ${bytes(found.newestRun.bytes)}`
  if (node.kind === 'topic') {
    const kept = topicsOf(node.name, found).reduce((sum, topic) => sum + topic.kept, 0)
    return `topic · ${count(kept)} kept`
  }
  return node.kind
}

/** A run has its own topics: `<name>.<run id>`. */
const topicsOf = (name: string, found: Overview | undefined) =>
  found?.topics.filter(({ topic }) => topic === name || topic.startsWith(`${name}.`)) ?? []

function hrefOf({ kind, name }: Placed, found: Overview | undefined): string {
  if (kind === 'service') return `/services/${encodeURIComponent(name)}`
  if (kind === 'topic') {
    const topics = topicsOf(name, found)
    const [only] = topics
    return only !== undefined && topics.length === 1
      ? topicAddress(only.topic)
      : `/topics?q=${encodeURIComponent(name)}`
  }
  if (kind === 'index') return '/runs'
  return '/services'
}

const describe = ({ nodes }: Graph): string =>
  `Pipeline: ${nodes
    .filter(({ kind }) => kind === 'service')
    .map(({ name, state }) => `${name} ${(state ?? '').toLowerCase()}`)
    .join(', ')}`

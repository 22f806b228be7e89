import type { Binding } from '../config/bindings.ts'
import type { CheckedConfig, CheckedService } from '../config/config.ts'
import type { ResourceStatus } from '../resources/opened-resource.ts'
import { BUILT_IN_TYPES } from '../services/registry.ts'
import type { ServiceState, ServiceStatus } from '../services/service.ts'

/** A pipeline as a flow: services, and the resources between them. */
export type PipelineGraph = {
  /** Services, topics, queues, storages and indexes. */
  readonly nodes: readonly GraphNode[]
  /** Bindings, in the direction in which data flows. */
  readonly edges: readonly GraphEdge[]
}

/** A service or a resource. */
export type GraphNode = {
  /** Unique in the graph. */
  readonly id: string
  /** What it is. */
  readonly kind: 'service' | 'topic' | 'queue' | 'storage' | 'index'
  /** Name in the configuration. */
  readonly name: string
  /** State of a service; null for a resource. */
  readonly state: ServiceState | null
  /** Whether it works. */
  readonly healthy: boolean
}

/** A binding between a service and a resource. */
export type GraphEdge = {
  /** Node from which data comes. */
  readonly from: string
  /** Node to which data goes. */
  readonly to: string
  /** Name of the binding in the service's configuration. */
  readonly binding: string
  /** Consumer group of a binding that reads a topic. */
  readonly group: string | null
  /** Number of items that have passed since the start; null if not counted. */
  readonly passed: number | null
  /** Items that wait in the queue from which the binding reads; null elsewhere. */
  readonly backlog: number | null
  /** Maximum number of items in a queue; null elsewhere, and if only its bytes are limited. */
  readonly capacity: number | null
  /** Fill level of a queue, 0 to 1, by items or by bytes, whichever is higher; null elsewhere. */
  readonly fill: number | null
}

const LETTERS = 'deadLetters'

/** Dead letters are left out: they would connect everything with everything. */
export function graphOf(
  { services }: CheckedConfig,
  statuses: readonly ServiceStatus[],
  resources: readonly ResourceStatus[],
): PipelineGraph {
  const nodes = new Map<string, GraphNode>()
  const edges: GraphEdge[] = []
  for (const service of services.filter(({ enabled }) => enabled)) {
    const status = statuses.find(({ name }) => name === service.name)
    const id = `service:${service.name}`
    nodes.set(id, {
      id,
      kind: 'service',
      name: service.name,
      state: status?.state ?? 'STOPPED',
      healthy: status?.healthy ?? true,
    })
    for (const [binding, to] of Object.entries(service.bindings)) {
      if (binding === LETTERS) continue
      const resource = resourceNode(to, resources)
      nodes.set(resource.id, resource)
      const reads = isRead(service, binding, to)
      edges.push({
        from: reads ? resource.id : id,
        to: reads ? id : resource.id,
        binding,
        group: to.kind === 'topic-read' ? to.consumerGroup : null,
        passed: passedOf(binding, to, status, resources, reads),
        ...(to.kind === 'queue' ? queueFacts(to.name, resources, reads) : NO_QUEUE),
      })
    }
  }
  return { nodes: [...nodes.values()], edges }
}

const KINDS = {
  'topic-read': 'topic',
  'topic-write': 'topic',
  'storage-read': 'storage',
  'storage-write': 'storage',
  index: 'index',
  queue: 'queue',
} as const

function resourceNode({ kind, name }: Binding, resources: readonly ResourceStatus[]): GraphNode {
  const node = KINDS[kind]
  const status = resources.find(
    each => each.kind === (node === 'topic' ? 'topics' : node) && (node === 'topic' || each.name === name),
  )
  return { id: `${node}:${name}`, kind: node, name, state: null, healthy: status?.healthy ?? true }
}

/** A queue has two ends, and the type of the service says which one it has. A custom type is assumed to read. */
function isRead({ type }: CheckedService, binding: string, { kind }: Binding): boolean {
  if (kind === 'topic-read' || kind === 'storage-read') return true
  if (kind !== 'queue') return false
  const table: { readonly [name: string]: { readonly kind: string } } | undefined =
    BUILT_IN_TYPES[type as keyof typeof BUILT_IN_TYPES]?.bindings
  return table?.[binding]?.kind !== 'queue-out'
}

function passedOf(
  binding: string,
  { kind, name }: Binding,
  status: ServiceStatus | undefined,
  resources: readonly ResourceStatus[],
  reads: boolean,
): number | null {
  if (kind === 'queue') {
    const metrics = resources.find(each => each.kind === 'queue' && each.name === name)?.metrics
    return (reads ? metrics?.totalTaken : metrics?.totalPut) ?? null
  }
  const metrics = status?.bindings.find(each => each.binding === binding)?.metrics
  if (kind === 'topic-read') return metrics?.received ?? null
  if (kind === 'topic-write') return metrics?.sent ?? null
  if (kind === 'storage-write') return status?.metrics.batchesWritten ?? null
  return status?.metrics.batchesIndexed ?? null
}

type QueueFacts = Pick<GraphEdge, 'backlog' | 'capacity' | 'fill'>

const NO_QUEUE: QueueFacts = { backlog: null, capacity: null, fill: null }

function queueFacts(name: string, resources: readonly ResourceStatus[], reads: boolean): QueueFacts {
  const metrics = resources.find(each => each.kind === 'queue' && each.name === name)?.metrics
  if (metrics === undefined) return NO_QUEUE
  const { items = 0, maxItems, bytes = 0, maxBytes } = metrics
  return {
    backlog: reads ? items : null,
    capacity: maxItems || null,
    fill: Math.min(1, Math.max(maxItems ? items / maxItems : 0, maxBytes ? bytes / maxBytes : 0)),
  }
}

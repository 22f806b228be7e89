/** How a service says which resources it uses. */
import type { Semantics } from 'tidemark'

/** What a binding of a service leads to. */
export type Binding =
  | {
      /** Kind of the resource. */
      readonly kind: 'topic-read'
      /** Name of the resource. */
      readonly name: string
      readonly consumerGroup: string
    }
  | { readonly kind: 'topic-write'; readonly name: string }
  | { readonly kind: 'storage-read'; readonly name: string }
  | { readonly kind: 'storage-write'; readonly name: string }
  | { readonly kind: 'index'; readonly name: string }
  | { readonly kind: 'queue'; readonly name: string }

type BindingKind = Binding['kind']

/** Binding that a service type requires under one name. */
export type BindingRule = {
  /** Kind of the resource. A queue has two ends: the service puts into 'queue-out' and takes from 'queue-in'. */
  readonly kind: Exclude<BindingKind, 'queue'> | 'queue-in' | 'queue-out'
  /** Description of the binding. */
  readonly says: string
  /** Whether the binding may be omitted. */
  readonly optional?: boolean
  /** Semantics of a topic (default 'pub-sub'). 'own': the service configures the topic itself. */
  readonly semantics?: Semantics | 'own'
  /** Whether each run has its own topic under the bound name: `<name>.<run id>`. */
  readonly perRun?: boolean
  /** The only topic that can be bound, because its name is a contract between services of different configurations. */
  readonly always?: string
  /** Whether the topic may have no reader among the services. */
  readonly unread?: boolean
}

/** Bindings of a service type by name. */
export type BindingTable = { readonly [name: string]: BindingRule }

/**
 * Binding to a topic that the service reads. Members of a consumer group share the messages; every group receives
 * all of them.
 *
 * @example
 * const batches = topicRead('batch-topic', { consumerGroup: 'environment' })
 */
export const topicRead = (topic: string, { consumerGroup }: { readonly consumerGroup: string }): Binding => ({
  kind: 'topic-read',
  name: topic,
  consumerGroup,
})

/**
 * Binding to a topic that the service publishes to.
 *
 * @example
 * const deadLetters = topicWrite('indexer-dead-letters')
 */
export const topicWrite = (topic: string): Binding => ({ kind: 'topic-write', name: topic })

/**
 * Binding to a storage that the service reads.
 *
 * @example
 * const storage = storageRead('ticks')
 */
export const storageRead = (storage: string): Binding => ({ kind: 'storage-read', name: storage })

/**
 * Binding to a storage that the service writes to.
 *
 * @example
 * const storage = storageWrite('ticks')
 */
export const storageWrite = (storage: string): Binding => ({ kind: 'storage-write', name: storage })

/**
 * Binding to the run indexes.
 *
 * @example
 * const runs = index('runs')
 */
export const index = (name: string): Binding => ({ kind: 'index', name })

/**
 * Binding to an end of a queue.
 *
 * @example
 * const ticks = queue('ticks')
 */
export const queue = (name: string): Binding => ({ kind: 'queue', name })

/** How each kind is written, for errors and the reference. */
export const WRITTEN_AS: { readonly [kind in BindingRule['kind']]: string } = {
  'topic-read': "topicRead('<topic>', { consumerGroup: '<group>' })",
  'topic-write': "topicWrite('<topic>')",
  'storage-read': "storageRead('<storage>')",
  'storage-write': "storageWrite('<storage>')",
  index: "index('<index>')",
  'queue-in': "queue('<queue>')",
  'queue-out': "queue('<queue>')",
}

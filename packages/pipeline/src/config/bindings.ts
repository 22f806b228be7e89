/** How a service says which resources it uses. */
import type { Semantics } from 'tidemark'

export type Binding =
  | { readonly kind: 'topic-read'; readonly name: string; readonly consumerGroup: string }
  | { readonly kind: 'topic-write'; readonly name: string }
  | { readonly kind: 'storage-read'; readonly name: string }
  | { readonly kind: 'storage-write'; readonly name: string }
  | { readonly kind: 'index'; readonly name: string }
  | { readonly kind: 'queue'; readonly name: string }

type BindingKind = Binding['kind']

/** What a service type needs under one of its binding names. */
export type BindingRule = {
  /** A queue has two ends: 'queue-out' is where the service puts, 'queue-in' where it takes. */
  readonly kind: Exclude<BindingKind, 'queue'> | 'queue-in' | 'queue-out'
  readonly says: string
  readonly optional?: boolean
  /** Of a topic: default 'pub-sub'. 'own': what opens it configures it. */
  readonly semantics?: Semantics | 'own'
  /** Each run has a topic of its own under the name that is bound: `<name>.<run id>`. */
  readonly perRun?: boolean
  /** The one topic that can be bound: its name is a contract between services that may be in different configurations. */
  readonly always?: string
  /** That no service reads what it writes is no mistake: people do, or nobody has to. */
  readonly unread?: boolean
}

export type BindingTable = { readonly [name: string]: BindingRule }

/** Members of one consumer group share a topic's messages; each group gets them all. */
export const topicRead = (topic: string, { consumerGroup }: { readonly consumerGroup: string }): Binding => ({
  kind: 'topic-read',
  name: topic,
  consumerGroup,
})

export const topicWrite = (topic: string): Binding => ({ kind: 'topic-write', name: topic })

export const storageRead = (storage: string): Binding => ({ kind: 'storage-read', name: storage })

export const storageWrite = (storage: string): Binding => ({ kind: 'storage-write', name: storage })

export const index = (name: string): Binding => ({ kind: 'index', name })

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

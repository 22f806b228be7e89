import { ConfigError, type ReaderOptions, type Tidemark, type TopicOptions } from 'tidemark'
import type { IndexOptions } from '../databases/open-index.ts'
import type { BoundedQueue, WaitOptions } from '../queues/bounded-queue.ts'
import type { Storage } from '../storage/storage.ts'
import type { BindingMeter, BindingStatus } from './binding-meter.ts'
import { MonitoredReader } from './monitored-reader.ts'
import { MonitoredWriter } from './monitored-writer.ts'

/** Where a service puts what it produces: a queue of this thread, or the sending end of a queue to another thread. */
export type Outlet<T> = {
  /** Resolves when the item is in the queue. */
  put(item: T, options?: WaitOptions): Promise<void>
}

/** A topic that a service is bound to. */
export type BoundTopic = {
  /** Open Tidemark of the topic. */
  readonly tidemark: Tidemark
  /** Name of the topic. */
  readonly topic: string
  /** Consumer group; empty if the binding only writes. */
  readonly consumerGroup: string
  /** Settings of the topic in the configuration. A topic per run is configured by the service that opens it. */
  readonly settings: TopicOptions
  /**
   * Counts the traffic of the binding, for `status().bindings`.
   *
   * @internal
   */
  readonly meter: BindingMeter
}

/** Address of the run indexes: pass it to `openIndex(address, runId, options)`. */
export type BoundIndex = {
  /** `sqlite:<folder>` or `postgres://…`. */
  readonly address: string
  /** Options of the index. */
  readonly options: IndexOptions
}

export type BoundResource =
  | { readonly kind: 'topic'; readonly value: BoundTopic }
  | { readonly kind: 'storage'; readonly value: Storage }
  | { readonly kind: 'index'; readonly value: BoundIndex }
  | { readonly kind: 'outlet'; readonly value: Outlet<unknown> }
  | { readonly kind: 'queue'; readonly value: BoundedQueue<unknown> }

/** Resources of one service by binding name. */
export class BoundResources {
  readonly #service: string
  readonly #bound: ReadonlyMap<string, BoundResource>

  /** @internal */
  constructor(service: string, bound: ReadonlyMap<string, BoundResource>) {
    this.#service = service
    this.#bound = bound
  }

  /** Whether the binding is set. */
  has(binding: string): boolean {
    return this.#bound.has(binding)
  }

  /** Topic of a binding. */
  topic(binding: string): BoundTopic {
    return this.#get(binding, 'topic')
  }

  /** Reader of a bound topic in the consumer group of the binding, from the first message on unless `from` is given. */
  reader<T>(binding: string, options: Omit<ReaderOptions<T>, 'group'> = {}): MonitoredReader<T> {
    const { tidemark, topic, consumerGroup: group, meter } = this.topic(binding)
    return new MonitoredReader(tidemark.reader<T>(topic, { from: 'beginning', ...options, group }), meter)
  }

  /** Writer to a bound topic. */
  writer<T>(binding: string): MonitoredWriter<T> {
    const { tidemark, topic, meter } = this.topic(binding)
    return new MonitoredWriter(tidemark, topic, meter)
  }

  /** Traffic of each binding to a topic. */
  status(): readonly BindingStatus[] {
    return [...this.#bound.values()].flatMap(bound => (bound.kind === 'topic' ? [bound.value.meter.status()] : []))
  }

  /** Storage of a binding. */
  storage(binding: string): Storage {
    return this.#get(binding, 'storage')
  }

  /** Address of the run indexes of a binding. */
  index(binding: string): BoundIndex {
    return this.#get(binding, 'index')
  }

  /** End of a queue that the service fills. */
  outlet<T>(binding: string): Outlet<T> {
    return this.#get(binding, 'outlet')
  }

  /** End of a queue that the service drains. */
  queue<T>(binding: string): BoundedQueue<T> {
    return this.#get(binding, 'queue') as unknown as BoundedQueue<T>
  }

  #get<Kind extends BoundResource['kind']>(binding: string, kind: Kind): ValueOf<Kind> {
    const found = this.#bound.get(binding)
    if (found?.kind === kind) return found.value as unknown as ValueOf<Kind>
    throw new ConfigError(`services.${this.#service}.bindings.${binding}`, found?.kind, `a binding to a ${kind}`)
  }
}

type ValueOf<Kind> = Extract<BoundResource, { readonly kind: Kind }>['value']

import { ConfigError, type ReaderOptions, type Tidemark, type TopicOptions } from 'tidemark'
import type { IndexOptions } from '../databases/open-index.ts'
import type { BoundedQueue, WaitOptions } from '../queues/bounded-queue.ts'
import type { Storage } from '../storage/storage.ts'
import type { BindingMeter, BindingStatus } from './binding-meter.ts'
import { MonitoredReader } from './monitored-reader.ts'
import { MonitoredWriter } from './monitored-writer.ts'

/** Where a service puts what it makes: a queue of this thread, or the near end of one that leads to another. */
export type Outlet<T> = { put(item: T, options?: WaitOptions): Promise<void> }

export type BoundTopic = {
  readonly tidemark: Tidemark
  readonly topic: string
  /** Empty where the binding only writes. */
  readonly consumerGroup: string
  /** Of the topic, as the configuration has them. What is bound for each run apart is configured by who opens it. */
  readonly settings: TopicOptions
  /** Counts what goes through the binding: `status().bindings`. */
  readonly meter: BindingMeter
}

/** Each run has an index of its own there: `openIndex(address, runId, options)`. */
export type BoundIndex = { readonly address: string; readonly options: IndexOptions }

export type BoundResource =
  | { readonly kind: 'topic'; readonly value: BoundTopic }
  | { readonly kind: 'storage'; readonly value: Storage }
  | { readonly kind: 'index'; readonly value: BoundIndex }
  | { readonly kind: 'outlet'; readonly value: Outlet<unknown> }
  | { readonly kind: 'queue'; readonly value: BoundedQueue<unknown> }

/** The resources of one service, by the names of its bindings. The kinds were checked with the configuration. */
export class BoundResources {
  readonly #service: string
  readonly #bound: ReadonlyMap<string, BoundResource>

  constructor(service: string, bound: ReadonlyMap<string, BoundResource>) {
    this.#service = service
    this.#bound = bound
  }

  has(binding: string): boolean {
    return this.#bound.has(binding)
  }

  topic(binding: string): BoundTopic {
    return this.#get(binding, 'topic')
  }

  /** A reader of a bound topic in the binding's consumer group, from the first message on unless `from` says otherwise. */
  reader<T>(binding: string, options: Omit<ReaderOptions<T>, 'group'> = {}): MonitoredReader<T> {
    const { tidemark, topic, consumerGroup: group, meter } = this.topic(binding)
    return new MonitoredReader(tidemark.reader<T>(topic, { from: 'beginning', ...options, group }), meter)
  }

  writer<T>(binding: string): MonitoredWriter<T> {
    const { tidemark, topic, meter } = this.topic(binding)
    return new MonitoredWriter(tidemark, topic, meter)
  }

  /** What went through each binding to a topic. */
  status(): readonly BindingStatus[] {
    return [...this.#bound.values()].flatMap(bound => (bound.kind === 'topic' ? [bound.value.meter.status()] : []))
  }

  storage(binding: string): Storage {
    return this.#get(binding, 'storage')
  }

  index(binding: string): BoundIndex {
    return this.#get(binding, 'index')
  }

  /** The service puts into it. */
  outlet<T>(binding: string): Outlet<T> {
    return this.#get(binding, 'outlet')
  }

  /** The service takes from it. */
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

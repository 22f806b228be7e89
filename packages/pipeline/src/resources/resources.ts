import { ConfigError, type Logger, open, type Tidemark } from 'tidemark'
import type { Binding, BindingRule, BindingTable } from '../config/bindings.ts'
import type { CheckedResources } from '../config/config.ts'
import { contractsRegistry } from '../contracts/notifications.ts'
import type { IndexProbe } from '../databases/index-database.ts'
import { probeIndexes } from '../databases/open-index.ts'
import type { RedriveTargets } from '../dead-letters/redrive-letter.ts'
import { BoundedQueue } from '../queues/bounded-queue.ts'
import type { Movable } from '../queues/worker-queue.ts'
import type { ManagedStorage } from '../storage/managed-storage.ts'
import { openStorage } from '../storage/open-storage.ts'
import { S3Storage } from '../storage/s3/s3-storage.ts'
import { BindingMeter } from './binding-meter.ts'
import { type BoundResource, BoundResources, type Outlet } from './bound-resources.ts'
import { OpenedResource, type ResourceStatus } from './opened-resource.ts'
import { SqliteFile } from './sqlite-file.ts'

export type ResourcesOptions = {
  readonly config: CheckedResources
  readonly logger: Logger
  /** In a thread: the sending ends of queues to other threads. */
  readonly outlets?: ReadonlyMap<string, Outlet<Movable>>
}

/** Resources that services share, each opened when the first service needs it. If that fails, so does the service. */
export class Resources implements AsyncDisposable {
  readonly #config: CheckedResources
  readonly #outlets: ReadonlyMap<string, Outlet<Movable>>
  readonly #topics: OpenedResource<Tidemark> | undefined
  readonly #storages: ReadonlyMap<string, OpenedResource<ManagedStorage>>
  /** Every indexer opens the index of its own run; these only check whether indexes are reachable. */
  readonly #indexes: ReadonlyMap<string, OpenedResource<IndexProbe>>
  readonly #queues: ReadonlyMap<string, BoundedQueue<Movable>>

  constructor({ config, logger, outlets = new Map() }: ResourcesOptions) {
    this.#config = config
    this.#outlets = outlets
    this.#topics = config.topics === null ? undefined : topicsOf(config.topics, logger)
    this.#storages = mapOf(config.storages, (options, name) => {
      return new OpenedResource({
        name,
        kind: 'storage',
        open: async () => await openStorage(options),
        metrics: storage => (storage instanceof S3Storage ? storage.metrics() : {}),
        look: async storage => await storage.look(),
      })
    })
    this.#indexes = mapOf(config.indexes, ({ address }, name) => {
      return new OpenedResource({
        name,
        kind: 'index',
        open: async () => await probeIndexes(address),
        metrics: probe => probe.metrics(),
        look: async probe => await probe.look(),
        close: async probe => await probe.close(),
      })
    })
    this.#queues = mapOf(config.queues, limits => {
      return new BoundedQueue<Movable>({ ...limits, sizeOf: item => item.bytes.byteLength })
    })
  }

  async topics(): Promise<Tidemark> {
    if (this.#topics === undefined) throw new ConfigError('resources.topics', undefined, 'the topics of the pipeline')
    return await this.#topics.value()
  }

  queued(): number {
    return this.#queues.values().reduce((sum, { metrics: { items } }) => sum + items, 0)
  }

  /** Where dead letters are and where they are redriven to: the first storage, since pipelines have one. */
  async redriveTargets(): Promise<RedriveTargets> {
    const [storage] = this.#storages.values()
    return {
      topics: await required(this.#topics, 'topics').value(),
      storage: await required(storage, 'storage').value(),
      indexes: this.indexAddresses,
    }
  }

  get indexAddresses(): readonly string[] {
    return Object.values(this.#config.indexes).map(({ address }) => address)
  }

  /** undefined: not opened yet, or failed to open. */
  get openTopics(): Tidemark | undefined {
    return this.#topics?.opened
  }

  /** undefined: not opened yet, or failed to open. */
  openStorage(name: string): ManagedStorage | undefined {
    return this.#storages.get(name)?.opened
  }

  queue(name: string): BoundedQueue<Movable> {
    const queue = this.#queues.get(name)
    if (queue === undefined) throw new Error(`There is no queue '${name}'`)
    return queue
  }

  /** Opens the resources of a service. Its bindings have been checked. */
  async bind(
    service: string,
    bindings: { readonly [name: string]: Binding },
    table: BindingTable,
  ): Promise<BoundResources> {
    const bound = new Map<string, BoundResource>()
    for (const [name, binding] of Object.entries(bindings)) {
      const rule = table[name]
      if (rule !== undefined) bound.set(name, await this.#open(name, binding, rule))
    }
    return new BoundResources(service, bound)
  }

  /** Status of each resource as of the last check. */
  status(): readonly ResourceStatus[] {
    const queues = [...this.#queues].map(([name, queue]): ResourceStatus => {
      return {
        name,
        kind: 'queue',
        state: queue.isClosed ? 'CLOSED' : 'OPEN',
        healthy: true,
        metrics: queue.metrics,
        errors: [],
      }
    })
    return [...this.#opened().map(resource => resource.status()), ...queues]
  }

  /** Checks every open resource; one that does not answer is not waited for long. */
  async look(): Promise<void> {
    await Promise.all(this.#opened().map(resource => resource.look()))
  }

  clearErrors(): void {
    for (const resource of this.#opened()) resource.clearErrors()
  }

  endQueues(): void {
    for (const queue of this.#queues.values()) queue.close()
  }

  /** Can be called again. */
  async close(): Promise<void> {
    this.endQueues()
    await Promise.all(this.#opened().map(resource => resource.close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #opened(): readonly OpenedResource<unknown>[] {
    const topics = this.#topics === undefined ? [] : [this.#topics]
    return [...topics, ...this.#storages.values(), ...this.#indexes.values()]
  }

  async #open(boundAs: string, binding: Binding, { kind, semantics = 'pub-sub' }: BindingRule): Promise<BoundResource> {
    const { name } = binding
    switch (binding.kind) {
      case 'topic-read':
      case 'topic-write': {
        const tidemark = await required(this.#topics, 'topics').value()
        const settings = this.#config.topics?.settings[name] ?? {}
        if (semantics !== 'own') await tidemark.configureTopic(name, { semantics, ...settings })
        const consumerGroup = binding.kind === 'topic-read' ? binding.consumerGroup : ''
        const meter = new BindingMeter(boundAs, binding)
        return { kind: 'topic', value: { tidemark, topic: name, consumerGroup, settings, meter } }
      }
      case 'storage-read':
      case 'storage-write':
        return { kind: 'storage', value: await required(this.#storages.get(name), name).value() }
      case 'index': {
        const { address, ...options } = required(this.#config.indexes[name], name)
        await required(this.#indexes.get(name), name).value()
        return { kind: 'index', value: { address, options } }
      }
      case 'queue':
        if (kind === 'queue-in') return { kind: 'queue', value: this.queue(name) as BoundedQueue<unknown> }
        return { kind: 'outlet', value: (this.#outlets.get(name) ?? this.queue(name)) as Outlet<unknown> }
    }
  }
}

function topicsOf(config: NonNullable<CheckedResources['topics']>, logger: Logger): OpenedResource<Tidemark> {
  const { url, namespace, durability, busyTimeout, poolSize, statementTimeout } = config
  const [scheme = ''] = url.split(':', 1)
  const ofEngine = optionsOf(scheme, { durability, busyTimeout, poolSize, statementTimeout })
  const file = new SqliteFile(namespace === 'default' ? url : '')
  return new OpenedResource<Tidemark>({
    name: 'topics',
    kind: 'topics',
    open: async () => await open(url, { namespace, registry: contractsRegistry, logger, ...ofEngine }),
    // A deleted file can still be read by processes that have it open.
    look: async tidemark => await Promise.all([tidemark.admin.topics(), file.look()]),
    close: async tidemark => await tidemark.close(),
    metrics: tidemark => tidemark.metrics().totals,
  })
}

/** Other engines have their settings in the address. */
function optionsOf(
  scheme: string,
  {
    durability,
    busyTimeout,
    poolSize,
    statementTimeout,
  }: Pick<NonNullable<CheckedResources['topics']>, 'durability' | 'busyTimeout' | 'poolSize' | 'statementTimeout'>,
): object {
  if (scheme === 'sqlite') return { durability, busyTimeout }
  return /^postgres(ql)?$/.test(scheme) ? { poolSize, statementTimeout } : {}
}

function mapOf<T, R>(config: { readonly [name: string]: T }, make: (options: T, name: string) => R): Map<string, R> {
  return new Map(Object.entries(config).map(([name, options]) => [name, make(options, name)]))
}

/** The configuration check ensures this. */
function required<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`There is no resource '${name}'`)
  return found
}

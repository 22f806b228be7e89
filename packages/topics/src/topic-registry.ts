import { TopicNotFoundError } from './errors.ts'
import { checkName } from './options/names.ts'
import type { Store } from './stores/store.ts'
import type { TopicRecord } from './stores/topic-record.ts'
import type { TopicConfig } from './topic-config.ts'

/** A topic's settings may be changed by another process; publishers notice within this time. */
const FRESH_MS = 5_000

/** When a missing topic is created. */
export type AutoCreate = 'always' | 'to-publish' | 'never'

/** The topics this process has used, so that a publish needs no lookup. */
export class TopicRegistry {
  readonly #store: Store
  readonly #autoCreate: AutoCreate
  readonly #known = new Map<string, { record: TopicRecord; readAt: number }>()
  readonly #reading = new Map<string, Promise<TopicRecord>>()
  /** Lookups that have not started: concurrent callers share them. */
  readonly #asked = new Map<string, Promise<TopicRecord>>()

  constructor(store: Store, autoCreate: AutoCreate) {
    this.#store = store
    this.#autoCreate = autoCreate
  }

  /** Immediate if it is known (and read again in the background if that was long ago). */
  cached(name: string): TopicRecord | undefined {
    const known = this.#known.get(name)
    if (known === undefined) return undefined
    if (performance.now() - known.readAt > FRESH_MS) this.#refreshInBackground(name, known)
    return known.record
  }

  /** For readers whose answers name the version of the configuration, so that time need not tell them to read it again. */
  known(name: string): TopicRecord | undefined {
    return this.#known.get(name)?.record
  }

  /** To publish: the topic, created with defaults if it is missing and that is allowed. */
  async get(name: string): Promise<TopicRecord> {
    const cached = this.cached(name)
    if (cached) return cached
    checkName('topic', name)
    let reading = this.#reading.get(name)
    if (reading === undefined) {
      reading = this.#read(name, this.#autoCreate !== 'never').finally(() => this.#reading.delete(name))
      this.#reading.set(name, reading)
    }
    return await reading
  }

  /**
   * To consume: the topic as it is now, created only if requested. A topic created for a consumer that came too early
   * would be a queue, whatever its program is about to configure.
   */
  async toConsume(name: string): Promise<TopicRecord> {
    const asked = this.#asked.get(name) ?? this.#readSoon(checkName('topic', name))
    this.#asked.set(name, asked)
    return await asked
  }

  async #readSoon(name: string): Promise<TopicRecord> {
    // Groups that are started together have all asked by then.
    await Promise.resolve()
    this.#asked.delete(name)
    return await this.#read(name, this.#autoCreate === 'always')
  }

  /**
   * For a publish inside a caller's transaction. A topic created there is not remembered, because it may be rolled
   * back. With a single writer, only the caller's transaction can create it.
   */
  async getIn(tx: unknown, name: string): Promise<TopicRecord> {
    const cached = this.cached(name)
    if (cached) return cached
    checkName('topic', name)
    const found = this.#store.capabilities.oneConnection ? undefined : await this.#store.topics.find(name)
    if (found) return this.#remember(found)
    const made = await this.#store.topics.findIn(tx, name, this.#autoCreate !== 'never')
    if (made === undefined) throw new TopicNotFoundError(name)
    return made
  }

  /** The same without a lookup beside the transaction; undefined: the store has no synchronous statements. */
  getInSync(tx: unknown, name: string): TopicRecord | undefined {
    const cached = this.cached(name)
    if (cached || this.#store.topics.findInSync === undefined) return cached
    checkName('topic', name)
    const found = this.#store.topics.findInSync(tx, name, this.#autoCreate !== 'never')
    if (found === undefined) throw new TopicNotFoundError(name)
    return found
  }

  /** As the database has it now. Never creates one. */
  async find(name: string): Promise<TopicRecord> {
    return await this.#read(checkName('topic', name), false)
  }

  async configure(name: string, given: Partial<TopicConfig>): Promise<TopicRecord> {
    checkName('topic', name)
    return this.#remember(await this.#store.topics.configure(name, given))
  }

  /** It was deleted, or changed other than by `configure`: the next lookup goes to the database. */
  forget(name: string): void {
    this.#known.delete(name)
  }

  /** Reads it again if the database has a newer configuration than this record. */
  async upToDate(record: TopicRecord, configVersion: number): Promise<TopicRecord> {
    if (record.configVersion >= configVersion) return record
    const latest = await this.#store.topics.find(record.name)
    return latest === undefined ? record : this.#remember(latest)
  }

  async #read(name: string, create: boolean): Promise<TopicRecord> {
    const found = await this.#store.topics.find(name)
    if (found) return this.#remember(found)
    if (!create) throw new TopicNotFoundError(name)
    return await this.configure(name, {})
  }

  #refreshInBackground(name: string, known: { readAt: number }): void {
    known.readAt = performance.now()
    this.#store.topics.find(name).then(
      record => (record ? this.#remember(record) : this.forget(name)),
      // The call that really needs the database will report what is wrong with it.
      () => undefined,
    )
  }

  #remember(record: TopicRecord): TopicRecord {
    this.#known.set(record.name, { record, readAt: performance.now() })
    return record
  }
}

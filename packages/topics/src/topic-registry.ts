import { TopicNotFoundError } from './errors.ts'
import { checkName } from './names.ts'
import type { Store, TopicRecord } from './stores/store.ts'
import type { TopicConfig } from './topic-config.ts'

/** A topic's settings may be changed by another process; publishers notice within this time. */
const FRESH_MS = 5_000

/** The topics this process has met, so that a publish needs no look-up. */
export class TopicRegistry {
  readonly #store: Store
  readonly #autoCreate: boolean
  readonly #known = new Map<string, { record: TopicRecord; readAt: number }>()
  readonly #reading = new Map<string, Promise<TopicRecord>>()

  constructor(store: Store, autoCreate: boolean) {
    this.#store = store
    this.#autoCreate = autoCreate
  }

  /** At once where it is known (and read again in the background when that was long ago). */
  cached(name: string): TopicRecord | undefined {
    const known = this.#known.get(name)
    if (known === undefined) return undefined
    if (performance.now() - known.readAt > FRESH_MS) this.#refreshInBackground(name, known)
    return known.record
  }

  /** The topic, created with defaults where it is new and `autoCreate` allows. */
  async get(name: string): Promise<TopicRecord> {
    const cached = this.cached(name)
    if (cached) return cached
    checkName('topic', name)
    let reading = this.#reading.get(name)
    if (reading === undefined) {
      reading = this.#read(name).finally(() => this.#reading.delete(name))
      this.#reading.set(name, reading)
    }
    return await reading
  }

  async configure(name: string, given: Partial<TopicConfig>): Promise<TopicRecord> {
    checkName('topic', name)
    return this.#remember(await this.#store.configureTopic(name, given))
  }

  /** It was deleted, or changed otherwise than by `configure`: the next look is at the database. */
  forget(name: string): void {
    this.#known.delete(name)
  }

  /** Reads it again if the database has a newer configuration than this record. */
  async upToDate(record: TopicRecord, configVersion: number): Promise<TopicRecord> {
    if (record.configVersion >= configVersion) return record
    const latest = await this.#store.topic(record.name)
    return latest === undefined ? record : this.#remember(latest)
  }

  async #read(name: string): Promise<TopicRecord> {
    const found = await this.#store.topic(name)
    if (found) return this.#remember(found)
    if (!this.#autoCreate) throw new TopicNotFoundError(name)
    return await this.configure(name, {})
  }

  #refreshInBackground(name: string, known: { readAt: number }): void {
    known.readAt = performance.now()
    this.#store.topic(name).then(
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

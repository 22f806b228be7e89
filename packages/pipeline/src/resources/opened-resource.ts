import { Health, type ServiceError } from '../services/health.ts'

/** Status of a resource. */
export type ResourceStatus = {
  /** Name of the resource. */
  readonly name: string
  /** Kind of the resource. */
  readonly kind: 'topics' | 'storage' | 'index' | 'queue'
  /** ERROR: it could not be opened, or did not answer the last check. */
  readonly state: 'CLOSED' | 'OPEN' | 'ERROR'
  /** Whether it works. */
  readonly healthy: boolean
  /** Figures by name. */
  readonly metrics: Readonly<Record<string, number>>
  /** Newest failures. */
  readonly errors: readonly ServiceError[]
}

type Options<T> = {
  readonly name: string
  readonly kind: ResourceStatus['kind']
  open(): Promise<T>
  /** Rejects if it is no longer there. Called every few seconds, so it must be cheap. */
  look?(value: T): Promise<unknown>
  close?(value: T): Promise<void>
  metrics?(value: T): Readonly<Record<string, number>>
}

/** A resource that has not answered by then is not waited for. */
const PATIENCE_MS = 4_000

/** Opened once for all callers. A failed attempt is repeated for the next caller. */
export class OpenedResource<T> {
  readonly #options: Options<T>
  readonly #health = new Health()
  #opening: Promise<T> | undefined
  #value: T | undefined
  #looking: Promise<void> | undefined

  constructor(options: Options<T>) {
    this.#options = options
  }

  async value(): Promise<T> {
    this.#opening ??= this.#open()
    return await this.#opening
  }

  /** The value, if it is open. */
  get opened(): T | undefined {
    return this.#value
  }

  status(): ResourceStatus {
    const { name, kind, metrics } = this.#options
    const { healthy, errors } = this.#health
    const state = healthy ? (this.#value === undefined ? 'CLOSED' : 'OPEN') : 'ERROR'
    return {
      name,
      kind,
      state,
      healthy,
      metrics: this.#value === undefined ? {} : (metrics?.(this.#value) ?? {}),
      errors,
    }
  }

  clearErrors(): void {
    this.#health.clear()
  }

  /** Checks whether it is still there and updates the status. Concurrent calls share one check. */
  async look(): Promise<void> {
    const value = this.#value
    const { look } = this.#options
    if (value === undefined || look === undefined) return
    this.#looking ??= this.#look(() => look(value)).finally(() => {
      this.#looking = undefined
    })
    await this.#looking
  }

  async close(): Promise<void> {
    const value = this.#value
    this.#value = undefined
    this.#opening = undefined
    this.#health.clear()
    if (value !== undefined) await this.#options.close?.(value)
  }

  async #open(): Promise<T> {
    try {
      this.#value = await this.#options.open()
      this.#health.clear()
      return this.#value
    } catch (error) {
      this.#opening = undefined
      this.#health.failed('open', error as Error)
      throw error
    }
  }

  async #look(look: () => Promise<unknown>): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Error(`It did not answer within ${PATIENCE_MS} ms`)), PATIENCE_MS)
    try {
      await Promise.race([look(), late])
      this.#health.succeeded('look')
    } catch (error) {
      if (this.#value !== undefined) this.#health.failed('look', error as Error)
    } finally {
      clearTimeout(timer)
      late.catch(() => undefined)
    }
  }
}

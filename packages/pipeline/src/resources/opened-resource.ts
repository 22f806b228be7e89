import type { ServiceError } from '../services/service.ts'

export type ResourceStatus = {
  readonly name: string
  readonly kind: 'topics' | 'storage' | 'queue'
  readonly state: 'CLOSED' | 'OPEN' | 'ERROR'
  readonly healthy: boolean
  readonly metrics: Readonly<Record<string, number>>
  readonly errors: readonly ServiceError[]
}

type Options<T> = {
  readonly name: string
  readonly kind: ResourceStatus['kind']
  open(): Promise<T>
  close?(value: T): Promise<void>
  metrics?(value: T): Readonly<Record<string, number>>
}

const KEPT_ERRORS = 20

/** Opened once for all who ask. An opening that failed is tried again for the next who asks. */
export class OpenedResource<T> {
  readonly #options: Options<T>
  #opening: Promise<T> | undefined
  #value: T | undefined
  #errors: ServiceError[] = []

  constructor(options: Options<T>) {
    this.#options = options
  }

  async value(): Promise<T> {
    this.#opening ??= this.#open()
    return await this.#opening
  }

  status(): ResourceStatus {
    const { name, kind, metrics } = this.#options
    const isOpen = this.#value !== undefined
    const hasFailed = !isOpen && this.#errors.length > 0
    return {
      name,
      kind,
      state: isOpen ? 'OPEN' : hasFailed ? 'ERROR' : 'CLOSED',
      healthy: !hasFailed,
      metrics: this.#value === undefined ? {} : (metrics?.(this.#value) ?? {}),
      errors: this.#errors,
    }
  }

  async close(): Promise<void> {
    const value = this.#value
    this.#value = undefined
    this.#opening = undefined
    if (value !== undefined) await this.#options.close?.(value)
  }

  async #open(): Promise<T> {
    try {
      this.#value = await this.#options.open()
      return this.#value
    } catch (error) {
      this.#opening = undefined
      this.#errors = [...this.#errors, { at: new Date(), action: 'open', error: error as Error }].slice(-KEPT_ERRORS)
      throw error
    }
  }
}

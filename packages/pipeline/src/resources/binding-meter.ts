import type { Binding } from '../config/bindings.ts'

/** Traffic of one binding of a service since the service was created. */
export type BindingStatus = {
  /** Name of the binding. */
  readonly binding: string
  /** Kind of the binding. */
  readonly kind: Binding['kind']
  /** Name of the topic. */
  readonly name: string
  /** Figures by name. */
  readonly metrics: Readonly<Record<string, number>>
}

const READ = ['received', 'acked', 'nacked', 'extended', 'failures'] as const
const WRITE = ['sent', 'duplicates', 'failures'] as const

export type BindingCount = (typeof READ)[number] | (typeof WRITE)[number]

/** Counters of one binding to a topic. */
export class BindingMeter {
  readonly #binding: string
  readonly #to: Binding
  readonly #counts: Record<string, number>

  constructor(binding: string, to: Binding) {
    this.#binding = binding
    this.#to = to
    this.#counts = Object.fromEntries((to.kind === 'topic-read' ? READ : WRITE).map(name => [name, 0]))
  }

  count(name: BindingCount): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + 1
  }

  /** Runs the work; an error counts as a failure. */
  async measure<T>(name: BindingCount | undefined, work: () => Promise<T>): Promise<T> {
    try {
      const value = await work()
      if (name !== undefined) this.count(name)
      return value
    } catch (error) {
      this.count('failures')
      throw error
    }
  }

  status(): BindingStatus {
    const { kind, name } = this.#to
    return { binding: this.#binding, kind, name, metrics: { ...this.#counts } }
  }
}

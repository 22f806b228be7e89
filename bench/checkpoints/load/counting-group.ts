import type { From, Tidemark } from 'tidemark'

/** A group in this process that only counts, for times too short to be asked for in another process. */
export class CountingGroup {
  readonly topic: string
  #delivered = 0
  #wanted: { readonly count: number; readonly resolve: () => void } | undefined

  private constructor(topic: string) {
    this.topic = topic
  }

  static async start(tidemark: Tidemark, topic: string, name: string, from: From = 'now'): Promise<CountingGroup> {
    const group = new CountingGroup(topic)
    await tidemark
      .consumerGroup(topic, name, { batchSize: 1_000 })
      .addConsumer('counter', async () => group.#count())
      .start({ from })
    return group
  }

  get delivered(): number {
    return this.#delivered
  }

  /** Resolves in the handler of that message. */
  async reached(count: number, signal: AbortSignal): Promise<void> {
    if (this.#delivered >= count) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#wanted = { count, resolve }
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    await promise
  }

  #count(): void {
    this.#delivered++
    if (this.#delivered === this.#wanted?.count) this.#wanted.resolve()
  }
}

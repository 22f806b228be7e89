import type { EventName, Tidemark } from 'tidemark'

/** What happens with every page: told as sums, so that a busy topic does not flood its readers. */
const SUMMED = ['published', 'received', 'acked', 'filtered', 'released', 'retried'] as const satisfies EventName[]

type Sums = { [name in (typeof SUMMED)[number]]?: number }

export class Activity {
  #byTopic = new Map<string, Sums>()

  /** The returned function ends it. */
  listen(topics: Tidemark): () => void {
    const ends = SUMMED.map(name =>
      topics.on(name, ({ topic, count }) => {
        const sums = this.#byTopic.get(topic) ?? {}
        sums[name] = (sums[name] ?? 0) + count
        this.#byTopic.set(topic, sums)
      }),
    )
    return () => {
      for (const end of ends) end()
    }
  }

  /** What came since it was last asked; undefined where nothing did. */
  take(): { readonly topics: { readonly [topic: string]: Sums } } | undefined {
    if (this.#byTopic.size === 0) return undefined
    const topics = Object.fromEntries(this.#byTopic)
    this.#byTopic = new Map()
    return { topics }
  }
}

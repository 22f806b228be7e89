import type { EventName, Tidemark } from 'tidemark'

/** Frequent events, reported as sums, so that a busy topic does not flood its readers. */
export const SUMMED = [
  'published',
  'received',
  'acked',
  'filtered',
  'released',
  'retried',
] as const satisfies EventName[]

export type Sums = { [name in (typeof SUMMED)[number]]?: number }

export class Activity {
  #toTell = new Map<string, Sums>()
  #own = new Map<string, Sums>()

  /** Counts the activity of this process. The returned function ends it. */
  listen(topics: Tidemark): () => void {
    const ends = SUMMED.map(name =>
      topics.on(name, ({ topic, count }) => {
        add(this.#toTell, topic, { [name]: count })
        add(this.#own, topic, { [name]: count })
      }),
    )
    return () => {
      for (const end of ends) end()
    }
  }

  /** Activity of other processes. */
  addOthers(sums: ReadonlyMap<string, Sums>): void {
    for (const [topic, each] of sums) add(this.#toTell, topic, each)
  }

  /** What this process has done since the last call. */
  takeOwn(): ReadonlyMap<string, Sums> {
    const own = this.#own
    this.#own = new Map()
    return own
  }

  /** What has been added since the last call; undefined if nothing. */
  take(): { readonly topics: { readonly [topic: string]: Sums } } | undefined {
    if (this.#toTell.size === 0) return undefined
    const topics = Object.fromEntries(this.#toTell)
    this.#toTell = new Map()
    return { topics }
  }
}

function add(to: Map<string, Sums>, topic: string, more: Sums): void {
  const sums = to.get(topic) ?? {}
  for (const name of SUMMED) {
    const count = more[name]
    if (count !== undefined) sums[name] = (sums[name] ?? 0) + count
  }
  to.set(topic, sums)
}

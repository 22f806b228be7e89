import {
  type EnvironmentStrategy,
  type IndexedRange,
  listIndexedRuns,
  openRunIndex,
  type RunIndex,
  requireRunId,
} from '@tidemark/pipeline'

export type OpenRun = {
  readonly index: RunIndex
  /** The last ticks known to be indexed, so that reading an older one needs no query. */
  readonly knownEnd: { environment: number; organisms: number }
}

export type Ranges = {
  readonly environment: IndexedRange | null
  readonly organisms: IndexedRange | null
  readonly series: IndexedRange | null
}

type Entry = { readonly opened: Promise<OpenRun>; users: number; isDropped: boolean }

/** The indexes of runs; the most recently used ones are kept open. */
export class RunIndexes {
  readonly #address: string
  readonly #most: number
  readonly #strategies: readonly EnvironmentStrategy[]
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>()

  constructor(address: string, most: number, strategies: readonly EnvironmentStrategy[] = []) {
    this.#address = address
    this.#most = most
    this.#strategies = strategies
  }

  /** Oldest first. */
  async list(): Promise<readonly string[]> {
    return await listIndexedRuns(this.#address)
  }

  /** Runs `read` with the run's index open; it is not closed before `read` has ended. */
  async use<T>(runId: string, read: (run: OpenRun) => Promise<T>): Promise<T> {
    const entry = this.#take(requireRunId(runId))
    entry.users++
    try {
      return await read(await entry.opened)
    } finally {
      entry.users--
      if (entry.isDropped) this.#closeUnused(entry)
    }
  }

  async ranges(runId: string): Promise<Ranges> {
    return await this.use(runId, async ({ index }) => {
      const [environment, organisms, series] = await Promise.all([
        index.environment.range(),
        index.organisms.range(),
        index.series.range(),
      ])
      return { environment, organisms, series }
    })
  }

  async close(): Promise<void> {
    const entries = [...this.#entries.values()]
    this.#entries.clear()
    await Promise.allSettled(entries.map(async ({ opened }) => await (await opened).index.close()))
  }

  #take(runId: string): Entry {
    const found = this.#entries.get(runId)
    if (found !== undefined) {
      this.#entries.delete(runId)
      this.#entries.set(runId, found)
      return found
    }
    const opened = openRunIndex(this.#address, runId, { environmentStrategy: this.#strategies }).then(index => ({
      index,
      knownEnd: { environment: -1, organisms: -1 },
    }))
    const entry = { opened, users: 0, isDropped: false }
    this.#entries.set(runId, entry)
    // An index that could not be opened is tried again at the next request.
    opened.catch(() => this.#entries.get(runId) === entry && this.#entries.delete(runId))
    this.#dropOldest()
    return entry
  }

  #dropOldest(): void {
    if (this.#entries.size <= this.#most) return
    for (const [runId, entry] of this.#entries) {
      this.#entries.delete(runId)
      entry.isDropped = true
      this.#closeUnused(entry)
      return
    }
  }

  #closeUnused({ users, opened }: Entry): void {
    if (users > 0) return
    opened.then(
      ({ index }) => index.close(),
      () => undefined,
    )
  }
}

import '@tidemark/jetstream'
import { type IndexDatabase, IndexNotFoundError, isEnvironmentFault, openIndex, topicOfRun } from '@tidemark/pipeline'
import { open, type Tidemark, TopicNotFoundError } from 'tidemark'
import { GROUPS } from './settings.ts'

export type Progress = {
  /** Ticks in the index, of the indexer with the most. */
  readonly indexed: number
  /** Whether every indexer has all ticks without a gap, and nothing waits for it. */
  readonly isWhole: boolean
  /** Batches that wait, in each group. */
  readonly waiting: readonly number[]
  /** Batches that could not be indexed. */
  readonly deadLetters: number
}

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Watches a run from outside: its index, and the topic of its batches. */
export class Observer implements AsyncDisposable {
  readonly #runId: string
  readonly #ticks: number
  readonly #address: string
  readonly #topics: Tidemark
  #index: IndexDatabase | undefined

  /** Creates the tables of the topics, as `tidemark migrate` does before the first start. */
  static async open(runId: string, ticks: number, index: string, topics: string): Promise<Observer> {
    return new Observer(runId, ticks, index, await open(topics, { maintenance: false, logger: QUIET }))
  }

  private constructor(runId: string, ticks: number, index: string, topics: Tidemark) {
    this.#runId = runId
    this.#ticks = ticks
    this.#address = index
    this.#topics = topics
  }

  async look(): Promise<Progress> {
    const index = await this.index()
    const ledgers = await Promise.all(GROUPS.map(group => ticksIn(index, group)))
    const groups = await this.#groups()
    const waiting = GROUPS.map(name => {
      const group = groups.find(({ group }) => group === name)
      return group === undefined ? 0 : group.lagMessages + group.inFlight + group.retries
    })
    const isIndexed = ledgers.every(({ ticks, ranges }) => ticks === this.#ticks && ranges === 1)
    return {
      indexed: Math.max(...ledgers.map(({ ticks }) => ticks)),
      isWhole: isIndexed && groups.length >= GROUPS.length && waiting.every(count => count === 0),
      waiting,
      deadLetters: groups.reduce((sum, { deadLetters }) => sum + deadLetters, 0),
    }
  }

  /** undefined as long as the run has none. */
  async index(): Promise<IndexDatabase | undefined> {
    try {
      this.#index ??= await openIndex(this.#address, this.#runId, { create: false })
    } catch (error) {
      if (!(error instanceof IndexNotFoundError) && !isEnvironmentFault(error)) throw error
    }
    return this.#index
  }

  async #groups() {
    try {
      return await this.#topics.admin.groups(topicOfRun('batch-topic', this.#runId))
    } catch (error) {
      if (error instanceof TopicNotFoundError) return []
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#index?.close()
    await this.#topics.close()
  }
}

async function ticksIn(index: IndexDatabase | undefined, indexer: string): Promise<{ ticks: number; ranges: number }> {
  const ranges = (await index?.ledger.processed(indexer, { after: -1, limit: 10_000 })) ?? []
  const ticks = ranges.reduce((sum, { tickStart, tickEnd }) => sum + tickEnd - tickStart + 1, 0)
  return { ticks, ranges: ranges.length }
}

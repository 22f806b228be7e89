import type { IndexDatabase } from '../databases/index-database.ts'
import type { WrittenAs } from '../databases/written-as.ts'
import { StrategyMissingError } from '../environment/errors.ts'
import { singleBlob } from '../environment/strategies/single-blob.ts'
import { type EnvironmentStrategy, settingsText } from '../environment/strategy.ts'

export type WrittenTicks = { readonly by: WrittenAs; readonly strategy: EnvironmentStrategy | undefined }

/** Which strategy has which ticks, by what the index recorded. */
export class Strategies {
  readonly #database: IndexDatabase
  /** What is not recorded was written by the first. */
  readonly #known: readonly EnvironmentStrategy[]
  /** As it was when it was last looked at: ranges only grow. */
  #written: readonly WrittenTicks[] | undefined

  constructor(database: IndexDatabase, given: readonly EnvironmentStrategy[]) {
    this.#database = database
    this.#known = [...given, singleBlob()]
  }

  /** Whether a tick is indexed or not, asking these in turn tells. Throws where one is missing that may have it. */
  async of(tick: number, isFresh: boolean): Promise<readonly EnvironmentStrategy[]> {
    if (isFresh || this.#written === undefined) await this.written()
    const written = this.#written ?? []
    if (written.length === 0) return this.#known.slice(0, 1)
    const having = written.filter(({ by }) => by.tickStart <= tick && tick <= by.tickEnd)
    return having.map(({ by, strategy }) => {
      if (strategy === undefined) throw new StrategyMissingError(this.#database.runId, by)
      return strategy
    })
  }

  /** All that is recorded; empty where nothing is. */
  async written(): Promise<readonly WrittenTicks[]> {
    const rows = await this.#database.environmentWritten.list()
    this.#written = rows.map(by => ({ by, strategy: this.#known.find(each => isOf(each, by)) }))
    return this.#written
  }

  /** For an index of which nothing is recorded. */
  get first(): EnvironmentStrategy {
    return this.#known[0] ?? singleBlob()
  }
}

const isOf = (strategy: EnvironmentStrategy, { strategy: name, settings }: WrittenAs): boolean =>
  strategy.name === name && (strategy.settings === undefined || settingsText(strategy) === settings)

import type { IndexDatabase } from '../databases/index-database.ts'
import type { WrittenAs } from '../databases/written-as.ts'
import { StrategyMissingError } from '../environment/errors.ts'
import { singleBlob } from '../environment/strategies/single-blob.ts'
import { type EnvironmentStrategy, settingsText } from '../environment/strategy.ts'

export type WrittenTicks = { readonly by: WrittenAs; readonly strategy: EnvironmentStrategy | undefined }

/** Which strategy has which ticks, as recorded in the index. */
export class Strategies {
  readonly #database: IndexDatabase
  /** Ticks without a record were written by the first strategy. */
  readonly #known: readonly EnvironmentStrategy[]
  /** As last read: ranges only grow. */
  #written: readonly WrittenTicks[] | undefined

  constructor(database: IndexDatabase, given: readonly EnvironmentStrategy[]) {
    this.#database = database
    this.#known = [...given, singleBlob()]
  }

  /** Strategies to try in turn to find out whether a tick is indexed. Throws if one is missing that may have it. */
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

  /** Everything that is recorded; may be empty. */
  async written(): Promise<readonly WrittenTicks[]> {
    const rows = await this.#database.environmentWritten.list()
    this.#written = rows.map(by => ({ by, strategy: this.#known.find(each => isOf(each, by)) }))
    return this.#written
  }

  /** For an index without records. */
  get first(): EnvironmentStrategy {
    return this.#known[0] ?? singleBlob()
  }
}

const isOf = (strategy: EnvironmentStrategy, { strategy: name, settings }: WrittenAs): boolean =>
  strategy.name === name && (strategy.settings === undefined || settingsText(strategy) === settings)

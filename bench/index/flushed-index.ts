import { type IndexedRun, type IndexerDefinition, openIndex, type RawTick } from '@tidemark/pipeline'
import { indexedRun } from '../../packages/pipeline/src/databases/indexed-run.ts'
import type { IndexEngine } from './engines/engine.ts'
import type { StoredWorld } from './world.ts'

/** An index that a definition writes into, without an indexer around it. */
export class FlushedIndex implements AsyncDisposable {
  readonly #run: IndexedRun
  readonly #definition: IndexerDefinition

  static async open(
    world: StoredWorld,
    { address }: IndexEngine,
    definition: IndexerDefinition,
  ): Promise<FlushedIndex> {
    const database = await openIndex(address, world.runId)
    const run = indexedRun(database, world.metadata())
    await database.transaction(async tx => await definition.prepare?.(run, tx))
    return new FlushedIndex(run, definition)
  }

  private constructor(run: IndexedRun, definition: IndexerDefinition) {
    this.#run = run
    this.#definition = definition
  }

  /** In one transaction. */
  async flush(ticks: readonly RawTick[]): Promise<void> {
    const run = this.#run
    await run.database.transaction(tx => this.#definition.flush(ticks, tx, { run, completedBatches: [] }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#run.database.close()
  }
}

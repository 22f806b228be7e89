/** Ticks into an index by a definition alone: what its flush does, without an indexer around it. */
import {
  decodeRawTick,
  encodeTick,
  type IndexedRun,
  type IndexerDefinition,
  openIndex,
  type RawTick,
  type Tick,
} from '@tidemark/pipeline'
import { inDialect } from '../../packages/pipeline/src/databases/dialect.ts'
import type { IndexEngine } from './engines/engine.ts'
import type { StoredWorld } from './world.ts'

export async function indexWith(world: StoredWorld, engine: IndexEngine, definition: IndexerDefinition): Promise<void> {
  const ticks: RawTick[] = []
  for (const { storageKey } of world.batches) {
    for await (const { bytes } of world.storage.readTicks(storageKey)) ticks.push(decodeRawTick(bytes))
  }
  await flush(world, engine, definition, ticks)
}

export async function flushWith(
  world: StoredWorld,
  engine: IndexEngine,
  definition: IndexerDefinition,
  ticks: readonly Tick[],
): Promise<void> {
  await flush(
    world,
    engine,
    definition,
    ticks.map(tick => decodeRawTick(encodeTick(tick).bytes)),
  )
}

async function flush(
  world: StoredWorld,
  engine: IndexEngine,
  definition: IndexerDefinition,
  ticks: readonly RawTick[],
): Promise<void> {
  await using database = await openIndex(engine.address, world.runId)
  const sql = (text: string): string => inDialect(text, database.engine)
  const run: IndexedRun = { runId: world.runId, database, metadata: world.metadata(), sql }
  await database.transaction(async tx => await definition.prepare?.(run, tx))
  await database.transaction(tx => definition.flush(ticks, tx, { run, completedBatches: [] }))
}

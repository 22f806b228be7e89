/** Ticks made by hand, and an index that they are flushed into without an indexer around it. */
import {
  type Cells,
  decodeRawTick,
  encodeTick,
  type IndexDatabase,
  type IndexerDefinition,
  type Organism,
  type RawTick,
  type SimulationMetadata,
  type Tick,
} from '@tidemark/pipeline'
// Inside: flushes a definition by hand, without the loop that would choose the ticks.
import { indexedRun } from '../../src/databases/indexed-run.ts'

export const NO_CELLS: Cells = {
  flatIndex: Int32Array.of(),
  moleculeType: Int32Array.of(),
  moleculeValue: Int32Array.of(),
  ownerId: Int32Array.of(),
}

/** Cells with these flat indexes; what is in them follows from the index and `salt`. */
export function cellsAt(indexes: Iterable<number>, salt = 0): Cells {
  const flatIndex = Int32Array.from(new Set(indexes)).sort()
  return {
    flatIndex,
    moleculeType: flatIndex.map(index => (index + salt) % 4),
    moleculeValue: flatIndex.map(index => index * 3 - salt),
    ownerId: flatIndex.map(index => (index % 5) - 1),
  }
}

export const tickOf = (runId: string, tick: number, parts: Partial<Tick> = {}): Tick => ({
  runId,
  tick,
  capturedAt: 1_760_000_000_000 + tick,
  cells: NO_CELLS,
  organisms: [],
  ...parts,
})

export const organismOf = (id: number, parts: Partial<Organism> = {}): Organism => ({
  id,
  parentId: null,
  birthTick: 0,
  lineage: 1,
  energy: 10,
  position: [id, 0],
  direction: [0, 1],
  genome: Uint8Array.of(id & 0xff),
  isDead: false,
  ...parts,
})

export const metadataOf = (runId: string, parts: Partial<SimulationMetadata> = {}): SimulationMetadata => ({
  runId,
  startedAt: 1_760_000_000_000,
  seed: '7',
  samplingInterval: 1,
  environment: { shape: [100, 100], topology: 'torus' },
  settings: '{}',
  moleculeTypes: ['code', 'data', 'energy'],
  ...parts,
})

/** The tables of these definitions made, and the metadata written. */
export async function prepareIndex(
  database: IndexDatabase,
  metadata: SimulationMetadata,
  definitions: readonly Required<IndexerDefinition>[],
): Promise<void> {
  await database.metadata.write(metadata)
  await database.transaction(async tx => {
    for (const definition of definitions) await definition.prepare(indexedRun(database, metadata), tx)
  })
}

/** As one flush of an indexer. */
export async function flushInto(
  database: IndexDatabase,
  definition: Required<IndexerDefinition>,
  ticks: readonly Tick[],
): Promise<void> {
  const raw = ticks.map(tick => decodeRawTick(encodeTick(tick).bytes))
  await flushRaw(database, definition, raw)
}

export async function flushRaw(
  database: IndexDatabase,
  definition: Required<IndexerDefinition>,
  ticks: readonly RawTick[],
): Promise<void> {
  const run = indexedRun(database, await database.metadata.read())
  await database.transaction(tx => definition.flush(ticks, tx, { run, completedBatches: [] }))
}

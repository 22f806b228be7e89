import type { SimulationMetadata, Tick } from '@tidemark/pipeline'
import { metadataOf, type World } from '../../../server/test/worlds.ts'
import type { Engine } from './engines.ts'
import { startWorldOn } from './world-on.ts'

export type Life = {
  readonly shape: readonly number[]
  readonly topology?: SimulationMetadata['environment']['topology']
  /** Ticks that there are; others in between are missing. */
  readonly ticks: readonly number[]
  /** The last tick of organism 2, in which it is dead. */
  readonly dies?: number
}

/** A world of any shape: organism 1 and its children 2 and 3, and a diagonal of energy that grows by a cell with each tick. */
export async function startWorldOf(engine: Engine, life: Life): Promise<World> {
  const world = await startWorldOn(engine)
  const metadata = metadataOf(world.runId)
  await world.post('/api/v1/ingest/metadata', {
    ...metadata,
    environment: { shape: life.shape, topology: life.topology ?? 'torus' },
  })
  await world.ingest(life.ticks.map(tick => tickOf(world.runId, tick, life)))
  await world.indexed(life.ticks.at(-1) ?? 0)
  return world
}

function tickOf(runId: string, tick: number, { shape, dies = Number.POSITIVE_INFINITY }: Life): Tick {
  const cells = shape.reduce((product, length) => product * length, 1)
  const flatIndex = Int32Array.from({ length: Math.min(tick + 1, cells) }, (_, place) => place)
  return {
    runId,
    tick,
    capturedAt: Date.UTC(2026, 0, 2) + tick,
    cells: {
      flatIndex,
      moleculeType: flatIndex.map(() => 1),
      moleculeValue: flatIndex.map(() => 5),
      ownerId: flatIndex.map(() => 1),
    },
    organisms: [1, 2, 3]
      .filter(id => id !== 2 || tick <= dies)
      .map(id => ({
        id,
        parentId: id === 1 ? null : id - 1,
        birthTick: id === 1 ? 0 : id - 1,
        lineage: id,
        energy: 100 - tick,
        position: shape.map(length => (tick + id) % length),
        direction: shape.map(() => 0),
        genome: Uint8Array.of(id, 2, 3),
        isDead: id === 2 && tick === dies,
      })),
  }
}

export const upTo = (last: number): number[] => Array.from({ length: last + 1 }, (_, tick) => tick)

import assert from 'node:assert/strict'
import type { Tick } from '@tidemark/pipeline'
import { metadataOf, startWorld, type World } from '../../../server/test/worlds.ts'

export const SIZE = 1000
const CELLS = 600_000

/** A world of 1000 × 1000 in which every tick changes every cell: as hard as it gets, 2.6 MB a tick when packed. */
export async function startLargeWorld(ticks: number): Promise<World> {
  const world = await startWorld()
  await world.post('/api/v1/ingest/metadata', {
    ...metadataOf(world.runId),
    environment: { shape: [SIZE, SIZE], topology: 'torus' },
  })
  for (let tick = 0; tick < ticks; tick++) {
    const { status } = await world.ingest([largeTick(world.runId, tick)])
    assert.equal(status, 202)
  }
  await world.indexed(ticks - 1)
  return world
}

export function largeTick(runId: string, tick: number): Tick {
  const flatIndex = Int32Array.from({ length: CELLS }, (_, place) => Math.floor((place * SIZE * SIZE) / CELLS))
  return {
    runId,
    tick,
    capturedAt: Date.UTC(2026, 0, 2) + tick,
    cells: {
      flatIndex,
      moleculeType: flatIndex.map((_, place) => 1 + ((place + tick) % 2)),
      moleculeValue: flatIndex.map((_, place) => 1 + ((place + tick) % 90)),
      ownerId: flatIndex.map(() => 1),
    },
    organisms: [],
  }
}

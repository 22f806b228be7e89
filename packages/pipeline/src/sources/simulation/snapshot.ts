import type { Cells, Organism, Tick } from '../../contracts/tick.ts'
import { GENOME_BYTES } from './genome.ts'
import { EMPTY } from './molecules.ts'
import { NO_PARENT, type Population } from './population.ts'
import type { World } from './world.ts'

/** A copy: the simulation may continue while it is sent. */
export function takeSnapshot(
  world: World,
  population: Population,
  { runId, tick, capturedAt }: Pick<Tick, 'runId' | 'tick' | 'capturedAt'>,
): Tick {
  return { runId, tick, capturedAt, cells: cellsOf(world), organisms: organismsOf(world, population) }
}

/** Flat indexes ascend because the world is read from its first cell to its last. */
function cellsOf(world: World): Cells {
  const flatIndex = occupiedCells(world)
  const count = flatIndex.length
  const moleculeType = new Int32Array(count)
  const moleculeValue = new Int32Array(count)
  const ownerId = new Int32Array(count)
  for (let slot = 0; slot < count; slot++) {
    const cell = flatIndex[slot] as number
    moleculeType[slot] = world.moleculeAt(cell)
    moleculeValue[slot] = world.valueAt(cell)
    ownerId[slot] = world.ownerAt(cell)
  }
  return { flatIndex, moleculeType, moleculeValue, ownerId }
}

/**
 * Writes every index and keeps those of occupied cells, because the processor can't predict which cells are occupied.
 */
function occupiedCells({ size, molecule, scratch }: World): Int32Array {
  let count = 0
  for (let cell = 0; cell < size; cell++) {
    scratch[count] = cell
    count += molecule[cell] === EMPTY ? 0 : 1
  }
  return scratch.slice(0, count)
}

function organismsOf(world: World, population: Population): Organism[] {
  const { count } = population
  // One copy for all genomes: a thousand small buffers cost more than the cells.
  const genomes = population.genome.slice(0, count * GENOME_BYTES)
  const vectors = Array.from({ length: world.directions }, (_, direction) => world.properties.vector(direction))
  const organisms = new Array<Organism>(count)
  for (let slot = 0; slot < count; slot++) {
    const cell = population.cell[slot] as number
    const parent = population.parent[slot] as number
    const isDead = population.dead[slot] === 1
    organisms[slot] = {
      id: population.id[slot] as number,
      parentId: parent === NO_PARENT ? null : parent,
      birthTick: population.birthTick[slot] as number,
      lineage: population.lineage[slot] as number,
      energy: isDead ? 0 : world.valueAt(cell),
      position: world.properties.toCoordinates(cell),
      direction: vectors[population.direction[slot] as number] as readonly number[],
      genome: genomes.subarray(slot * GENOME_BYTES, (slot + 1) * GENOME_BYTES),
      isDead,
    }
  }
  return organisms
}

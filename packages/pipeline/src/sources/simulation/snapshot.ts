import type { Cells, Organism, Tick } from '../../contracts/tick.ts'
import { GENOME_BYTES } from './genome.ts'
import { EMPTY } from './molecules.ts'
import { NO_PARENT, type Population } from './population.ts'
import type { World } from './world.ts'

/** A copy: the simulation may go on while it travels. */
export function takeSnapshot(
  world: World,
  population: Population,
  { runId, tick, capturedAt }: Pick<Tick, 'runId' | 'tick' | 'capturedAt'>,
): Tick {
  return { runId, tick, capturedAt, cells: cellsOf(world), organisms: organismsOf(world, population) }
}

/** The flat indices ascend because the world is read from its first cell to its last. */
function cellsOf({ size, molecule, value, owner }: World): Cells {
  let count = 0
  for (let cell = 0; cell < size; cell++) if (molecule[cell] !== EMPTY) count++
  const cells = {
    flatIndex: new Int32Array(count),
    moleculeType: new Int32Array(count),
    moleculeValue: new Int32Array(count),
    ownerId: new Int32Array(count),
  }
  let slot = 0
  for (let cell = 0; cell < size; cell++) {
    if (molecule[cell] === EMPTY) continue
    cells.flatIndex[slot] = cell
    cells.moleculeType[slot] = molecule[cell] as number
    cells.moleculeValue[slot] = value[cell] as number
    cells.ownerId[slot] = owner[cell] as number
    slot++
  }
  return cells
}

function organismsOf(world: World, population: Population): Organism[] {
  const { count } = population
  // One copy for all genomes: a thousand small buffers cost more than the cells.
  const genomes = population.genome.slice(0, count * GENOME_BYTES)
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
      direction: world.properties.vector(population.direction[slot] as number),
      genome: genomes.subarray(slot * GENOME_BYTES, (slot + 1) * GENOME_BYTES),
      isDead,
    }
  }
  return organisms
}

/**
 * OrganismState encoded by hand, like the cells: a tick has hundreds of them. Tests compare it with the generated code.
 */
import { ContractError, LimitError } from '../errors.ts'
import type { ContractLimits } from './limits.ts'
import type { Organism } from './tick.ts'
import { DELIMITED, FIXED64, tagOf, VARINT, WireReader } from './wire-reader.ts'
import type { WireWriter } from './wire-writer.ts'

const TYPE = 'OrganismState'
const ID = tagOf(1, VARINT)
const PARENT_ID = tagOf(2, VARINT)
const BIRTH_TICK = tagOf(3, VARINT)
const LINEAGE = tagOf(4, VARINT)
const ENERGY = tagOf(5, FIXED64)
const POSITION = tagOf(6, DELIMITED)
const POSITION_ITEM = tagOf(6, VARINT)
const DIRECTION = tagOf(7, DELIMITED)
const DIRECTION_ITEM = tagOf(7, VARINT)
const GENOME = tagOf(8, DELIMITED)
const IS_DEAD = tagOf(9, VARINT)

export function writeOrganism(writer: WireWriter, organism: Organism): void {
  writer.unsigned(ID, organism.id, TYPE, 'id')
  if (organism.parentId !== null) writeParent(writer, organism.parentId)
  writer.unsigned(BIRTH_TICK, organism.birthTick, TYPE, 'birthTick')
  writer.unsigned(LINEAGE, organism.lineage, TYPE, 'lineage')
  writer.double(ENERGY, organism.energy)
  writeCoordinates(writer, POSITION, organism.position, 'position')
  writeCoordinates(writer, DIRECTION, organism.direction, 'direction')
  if (organism.genome.length > 0) writer.data(GENOME, organism.genome)
  if (organism.isDead) writer.unsigned(IS_DEAD, 1, TYPE, 'isDead')
}

export function readOrganism(bytes: Uint8Array, start: number, end: number, limits: ContractLimits): Organism {
  const reader = new WireReader(TYPE, bytes, start, end)
  let id = 0
  let parentId: number | null = null
  let birthTick = 0
  let lineage = 0
  let energy = 0
  const position: number[] = []
  const direction: number[] = []
  let genome: Uint8Array = new Uint8Array(0)
  let isDead = false
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === ID) id = reader.varint()
    else if (tag === PARENT_ID) parentId = reader.varint()
    else if (tag === BIRTH_TICK) birthTick = reader.varint()
    else if (tag === LINEAGE) lineage = reader.varint()
    else if (tag === ENERGY) energy = reader.double()
    else if (tag === POSITION || tag === POSITION_ITEM) readCoordinates(reader, tag, position, limits)
    else if (tag === DIRECTION || tag === DIRECTION_ITEM) readCoordinates(reader, tag, direction, limits)
    else if (tag === GENOME) genome = readGenome(reader, limits)
    else if (tag === IS_DEAD) isDead = reader.boolean()
    else if (tag >>> 3 <= 9) throw reader.error(`field ${tag >>> 3} has wire type ${tag & 7}`)
    else reader.skip(tag)
  }
  return { id, parentId, birthTick, lineage, energy, position, direction, genome, isDead }
}

/** The fields needed of every organism in every tick. */
export type OrganismVitals = Pick<Organism, 'id' | 'parentId' | 'birthTick' | 'lineage' | 'energy' | 'isDead'>

/** Skips position, direction and genome, which would have to be copied. */
export function readVitals(bytes: Uint8Array): OrganismVitals {
  const reader = new WireReader(TYPE, bytes)
  let id = 0
  let parentId: number | null = null
  let birthTick = 0
  let lineage = 0
  let energy = 0
  let isDead = false
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === ID) id = reader.varint()
    else if (tag === PARENT_ID) parentId = reader.varint()
    else if (tag === BIRTH_TICK) birthTick = reader.varint()
    else if (tag === LINEAGE) lineage = reader.varint()
    else if (tag === ENERGY) energy = reader.double()
    else if (tag === IS_DEAD) isDead = reader.boolean()
    else reader.skip(tag)
  }
  return { id, parentId, birthTick, lineage, energy, isDead }
}

/** Written even if it is 0: the field is optional, and absence means that there was no parent. */
function writeParent(writer: WireWriter, parentId: number): void {
  if (parentId !== 0) {
    writer.unsigned(PARENT_ID, parentId, TYPE, 'parentId')
  } else {
    writer.varint(PARENT_ID)
    writer.varint(0)
  }
}

function writeCoordinates(writer: WireWriter, tag: number, coordinates: readonly number[], name: string): void {
  if (coordinates.length === 0) return
  writer.delimited(tag, coordinates.length, () => {
    for (const coordinate of coordinates) {
      if ((coordinate | 0) !== coordinate) throw new ContractError(TYPE, `${name} holds ${coordinate}, not an int32`)
      writer.varint(((coordinate << 1) ^ (coordinate >> 31)) >>> 0)
    }
  })
}

function readCoordinates(reader: WireReader, tag: number, into: number[], limits: ContractLimits): void {
  if ((tag & 7) === VARINT) {
    addCoordinate(reader, into, limits)
  } else {
    const { start, end } = reader.delimited()
    const inner = new WireReader(TYPE, reader.bytes, start, end)
    while (inner.at < end) addCoordinate(inner, into, limits)
  }
}

function addCoordinate(reader: WireReader, into: number[], { maxDimensions }: ContractLimits): void {
  const value = reader.varint()
  if (value > 0xffffffff) throw reader.error('a coordinate is beyond 32 bits')
  into.push((value >>> 1) ^ -(value & 1))
  if (into.length > maxDimensions) throw new LimitError('Coordinates', 'maxDimensions', into.length, maxDimensions)
}

function readGenome(reader: WireReader, { maxGenomeBytes }: ContractLimits): Uint8Array {
  const genome = reader.delimited()
  const length = genome.end - genome.start
  if (length > maxGenomeBytes) throw new LimitError('Bytes of a genome', 'maxGenomeBytes', length, maxGenomeBytes)
  return reader.bytes.slice(genome.start, genome.end)
}

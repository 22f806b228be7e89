import { crc32 } from 'node:zlib'
import { SimulationStateError } from './errors.ts'
import { GENOME_BYTES } from './genome.ts'
import type { LifeTotals } from './life.ts'
import type { Population } from './population.ts'
import type { SimulationOptions, SimulationSettings } from './settings.ts'
import type { SporeBank } from './spore-bank.ts'
import type { World } from './world.ts'

/**
 * A saved state: magic (8 bytes), the length of the settings, the settings as JSON, ten numbers, the columns one after
 * the other, a CRC-32 of all of it. Columns are written as they are in memory; a marker records the byte order.
 */
const MAGIC = new TextEncoder().encode('TMSIM\x00\x00\x01')
const LENGTH_BYTES = 4
const CHECKSUM_BYTES = 4
/** tick, reserve, births, deaths, lastId, alive, organisms, spores, next spore, and the byte order marker. */
const NUMBERS = 10
/** In the other byte order, the bytes of a double 1 are another number. */
const BYTE_ORDER_MARK = 1

export type Parts = {
  readonly settings: SimulationSettings
  readonly tick: number
  readonly world: World
  readonly population: Population
  readonly spores: SporeBank
  readonly totals: LifeTotals
}

export function writeState(parts: Parts): Uint8Array {
  const settings = new TextEncoder().encode(JSON.stringify(parts.settings))
  const length = new Uint8Array(LENGTH_BYTES)
  new DataView(length.buffer).setUint32(0, settings.length, true)
  const blocks = [MAGIC, length, settings, bytesOf(numbersOf(parts)), ...columnsOf(parts, parts.population.count)]
  const body = Buffer.concat(blocks)
  const checksum = new Uint8Array(CHECKSUM_BYTES)
  new DataView(checksum.buffer).setUint32(0, crc32(body), true)
  return new Uint8Array(Buffer.concat([body, checksum]))
}

/** The options with which a saved state was created. */
export function readSettings(state: Uint8Array): SimulationOptions {
  return JSON.parse(settingsText(checked(state)))
}

/** Fills the parts from a saved state, after checking that it fits; returns its tick. */
export function readState(parts: Parts, state: Uint8Array): number {
  const body = checked(state)
  const settings = settingsText(body)
  if (settings !== JSON.stringify(parts.settings)) {
    throw new SimulationStateError(
      `The saved state is of a simulation with the options ${settings}, this one has ` +
        `${JSON.stringify(parts.settings)}. Use resumeSimulation(state), or create it with the same options`,
    )
  }
  const start = MAGIC.length + LENGTH_BYTES + new TextEncoder().encode(settings).length
  const numbers = new Float64Array(NUMBERS)
  bytesOf(numbers).set(body.subarray(start, start + numbers.byteLength))
  const [mark, tick, reserve, births, deaths, lastId, alive, organisms, spores, nextSpore] = [...numbers] as Numbers
  if (mark !== BYTE_ORDER_MARK)
    throw new SimulationStateError('The saved state comes from a machine with another byte order')

  let at = start + numbers.byteLength
  parts.population.reserveCapacity(Math.min(organisms, parts.world.size))
  const columns = columnsOf(parts, organisms)
  if (at + columns.reduce((sum, column) => sum + column.length, 0) !== body.length) {
    throw new SimulationStateError('The saved state has an unexpected length. Use an earlier state')
  }
  for (const column of columns) {
    column.set(body.subarray(at, at + column.length))
    at += column.length
  }
  parts.population.count = organisms
  parts.world.reserve = reserve
  parts.spores.count = spores
  parts.spores.next = nextSpore
  Object.assign(parts.totals, { births, deaths, lastId, alive })
  return tick
}

type Numbers = [number, number, number, number, number, number, number, number, number, number]

function numbersOf({ tick, world, population, spores, totals }: Parts): Float64Array {
  const { births, deaths, lastId, alive } = totals
  const numbers: Numbers = [
    BYTE_ORDER_MARK,
    tick,
    world.reserve,
    births,
    deaths,
    lastId,
    alive,
    population.count,
    spores.count,
    spores.next,
  ]
  return Float64Array.from(numbers)
}

/** Every column, as bytes, in file order; for organisms, the slots in use. */
function columnsOf({ world, population, spores }: Parts, organisms: number): Uint8Array[] {
  const { random, molecule, value, owner, clan } = world
  const ofOrganisms = [
    population.id,
    population.parent,
    population.birthTick,
    population.lineage,
    population.clan,
    population.drift,
    population.cell,
    population.direction,
    population.dead,
  ].map(column => bytesOf(column.subarray(0, organisms)))
  return [
    ...[random.state, molecule, value, owner, clan].map(bytesOf),
    ...ofOrganisms,
    population.genome.subarray(0, organisms * GENOME_BYTES),
    ...[spores.parent, spores.lineage, spores.drift, spores.genome].map(bytesOf),
  ]
}

/** The state without its checksum, after verifying it. */
function checked(state: Uint8Array): Uint8Array {
  if (!(state instanceof Uint8Array) || state.length < MAGIC.length + LENGTH_BYTES + CHECKSUM_BYTES) {
    throw new SimulationStateError('The saved state is too short. Use an earlier state, or start a new run')
  }
  if (!MAGIC.every((byte, at) => state[at] === byte)) {
    throw new SimulationStateError('These bytes are not a saved state of this version of the simulation')
  }
  const body = state.subarray(0, state.length - CHECKSUM_BYTES)
  if (viewOf(state).getUint32(body.length, true) !== crc32(body)) {
    throw new SimulationStateError('The saved state is damaged: its checksum is wrong. Use an earlier state')
  }
  return body
}

function settingsText(body: Uint8Array): string {
  const start = MAGIC.length + LENGTH_BYTES
  return new TextDecoder().decode(body.subarray(start, start + viewOf(body).getUint32(MAGIC.length, true)))
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const bytesOf = (column: Int32Array | Uint8Array | Float64Array): Uint8Array =>
  new Uint8Array(column.buffer, column.byteOffset, column.byteLength)

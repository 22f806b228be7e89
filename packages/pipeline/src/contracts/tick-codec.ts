/** Converts TickData between memory and bytes, completely or as far as needed. */
import { LimitError } from '../errors.ts'
import { requireRunId } from '../run-id.ts'
import { decodeCells, verifyCells, writeCells } from './cell-codec.ts'
import { type ContractLimits, DEFAULT_LIMITS } from './limits.ts'
import { readOrganism, writeOrganism } from './organism-codec.ts'
import type { EnvironmentConfig, Organism, Tick } from './tick.ts'
import { DELIMITED, tagOf, VARINT, WireReader } from './wire-reader.ts'
import { WireWriter } from './wire-writer.ts'

/** A tick as it is transferred and stored. */
export type EncodedTick = {
  /** Id of the run. */
  readonly runId: string
  /** Number of the tick. */
  readonly tick: number
  /** TickData in a buffer of its own. */
  readonly bytes: Uint8Array
}

/** Identity of a tick. */
export type TickHead = {
  /** Id of the run. */
  readonly runId: string
  /** Number of the tick. */
  readonly tick: number
  /** Time at which the tick was captured, in milliseconds since 1970. */
  readonly capturedAt: number
}

/** A tick with undecoded cells (a CellStateList) and organisms (one OrganismState each). */
export type RawTick = TickHead & {
  /** Bytes of the cells. */
  readonly cells: Uint8Array
  /** Bytes of each organism. */
  readonly organisms: readonly Uint8Array[]
  /** Number of organisms, without creating a view of each. */
  readonly organismCount: number
}

const TYPE = 'TickData'
const RUN_ID = tagOf(1, DELIMITED)
const TICK_NUMBER = tagOf(2, VARINT)
const CAPTURE_TIME = tagOf(3, VARINT)
const CELLS = tagOf(4, DELIMITED)
const ORGANISMS = tagOf(5, DELIMITED)
/** Minimum bytes of a cell, to reserve the right space for their length. */
const LEAST_BYTES_PER_CELL = 4
const BYTES_OF_AN_ORGANISM = 40
const writer = new WireWriter()

/**
 * Encodes a tick.
 *
 * @example
 * const { bytes } = encodeTick(tick)
 */
export function encodeTick(tick: Tick): EncodedTick {
  writer.at = 0
  writer.text(RUN_ID, requireRunId(tick.runId))
  writer.unsigned(TICK_NUMBER, tick.tick, TYPE, 'tick')
  writer.unsigned(CAPTURE_TIME, tick.capturedAt, TYPE, 'capturedAt')
  writer.delimited(CELLS, tick.cells.flatIndex.length * LEAST_BYTES_PER_CELL, () => writeCells(writer, tick.cells))
  for (const organism of tick.organisms) {
    writer.delimited(ORGANISMS, BYTES_OF_AN_ORGANISM, () => writeOrganism(writer, organism))
  }
  return { runId: tick.runId, tick: tick.tick, bytes: writer.take() }
}

/**
 * Decodes a whole tick.
 *
 * @example
 * const { cells, organisms } = decodeTick(bytes)
 */
export function decodeTick(bytes: Uint8Array, limits: ContractLimits = DEFAULT_LIMITS): Tick {
  const organisms: Span[] = []
  const { head, cells } = walk(bytes, limits, span => organisms.push(span))
  return {
    ...head,
    cells: decodeCells(bytes.subarray(cells.start, cells.end), limits),
    organisms: organisms.map(({ start, end }) => readOrganism(bytes, start, end, limits)),
  }
}

/**
 * Splits a tick into parts without decoding them. The parts are views of `bytes`, not copies.
 *
 * @example
 * const { tick, cells } = decodeRawTick(bytes)
 */
export function decodeRawTick(bytes: Uint8Array, limits: ContractLimits = DEFAULT_LIMITS): RawTick {
  const { head, cells, organismCount } = walk(bytes, limits)
  let organisms: Uint8Array[] | undefined
  return {
    ...head,
    cells: bytes.subarray(cells.start, cells.end),
    organismCount,
    // Created on demand: a hundred views per tick were most of the garbage collector's work.
    get organisms() {
      organisms ??= organismsOf(bytes, limits)
      return organisms
    },
  }
}

function organismsOf(bytes: Uint8Array, limits: ContractLimits): Uint8Array[] {
  const organisms: Uint8Array[] = []
  walk(bytes, limits, ({ start, end }) => organisms.push(bytes.subarray(start, end)))
  return organisms
}

/**
 * Decodes one organism of a RawTick.
 *
 * @example
 * for (const organism of decodeRawTick(bytes).organisms) console.log(decodeOrganism(organism).energy)
 */
export function decodeOrganism(bytes: Uint8Array, limits: ContractLimits = DEFAULT_LIMITS): Organism {
  return readOrganism(bytes, 0, bytes.length, limits)
}

/**
 * Reads run and number of a tick from another program. The structure of the whole tick is checked, but nothing is
 * decoded.
 *
 * @example
 * const { runId, tick: number } = toEncodedTick(bytes)
 */
export function toEncodedTick(bytes: Uint8Array, limits: ContractLimits = DEFAULT_LIMITS): EncodedTick {
  const { runId, tick } = walk(bytes, limits).head
  return { runId, tick, bytes }
}

/**
 * For a tick from elsewhere: throws unless all of it can be decoded and no cell is beyond the world (`worldSize` cells;
 * undefined: unknown).
 */
export function verifyTick(
  bytes: Uint8Array,
  worldSize?: number,
  limits: ContractLimits = DEFAULT_LIMITS,
): EncodedTick {
  const { head, cells } = walk(bytes, limits, ({ start, end }) => readOrganism(bytes, start, end, limits))
  verifyCells(bytes.subarray(cells.start, cells.end), limits, worldSize)
  return { runId: head.runId, tick: head.tick, bytes }
}

/** How many cells a world of this shape has. */
export const worldSizeOf = ({ shape }: EnvironmentConfig): number => shape.reduce((size, length) => size * length, 1)

/**
 * Reads run and number of a tick only. The rest is checked when it is decoded.
 *
 * @example
 * const { runId, tick: number } = tickHeadOf(bytes)
 */
export function tickHeadOf(bytes: Uint8Array): { readonly runId: string; readonly tick: number } {
  const reader = new WireReader(TYPE, bytes)
  let runId = ''
  let tick = 0
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === RUN_ID) runId = reader.text()
    else if (tag === TICK_NUMBER) tick = reader.varint()
    else reader.skip(tag)
  }
  return { runId: requireRunId(runId), tick }
}

type Span = { readonly start: number; readonly end: number }
type Parts = { readonly head: TickHead; readonly cells: Span; readonly organismCount: number }

function walk(bytes: Uint8Array, limits: ContractLimits, eachOrganism?: (span: Span) => unknown): Parts {
  if (bytes.length > limits.maxTickBytes) {
    throw new LimitError('Bytes of a tick', 'maxTickBytes', bytes.length, limits.maxTickBytes)
  }
  const reader = new WireReader(TYPE, bytes)
  let runId = ''
  let tick = 0
  let capturedAt = 0
  let cells: Span | undefined
  let organismCount = 0
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === RUN_ID) runId = reader.text()
    else if (tag === TICK_NUMBER) tick = reader.varint()
    else if (tag === CAPTURE_TIME) capturedAt = reader.varint()
    else if (tag === CELLS) {
      // Protobuf would merge the two, but a view of the raw bytes would not: refused, so that there is only one answer.
      if (cells !== undefined) throw reader.error('it has more than one list of cells')
      cells = reader.delimited()
    } else if (tag === ORGANISMS) {
      if (eachOrganism === undefined) reader.skip(tag)
      else eachOrganism(reader.delimited())
      if (++organismCount > limits.maxOrganisms) {
        throw new LimitError('Organisms of a tick', 'maxOrganisms', organismCount, limits.maxOrganisms)
      }
    } else if (tag >>> 3 <= 5) throw reader.error(`field ${tag >>> 3} has wire type ${tag & 7}`)
    else reader.skip(tag)
  }
  const head = { runId: requireRunId(runId), tick, capturedAt }
  return { head, cells: cells ?? { start: 0, end: 0 }, organismCount }
}

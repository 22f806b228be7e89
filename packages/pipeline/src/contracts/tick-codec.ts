/** TickData between memory and bytes, in whole or as far as it is needed. */
import { LimitError } from '../errors.ts'
import { requireRunId } from '../run-id.ts'
import { decodeCells, verifyCells, writeCells } from './cell-codec.ts'
import { type ContractLimits, DEFAULT_LIMITS } from './limits.ts'
import { readOrganism, writeOrganism } from './organism-codec.ts'
import type { EnvironmentConfig, Organism, Tick } from './tick.ts'
import { DELIMITED, tagOf, VARINT, WireReader } from './wire-reader.ts'
import { WireWriter } from './wire-writer.ts'

/** A tick as it travels and is stored. `bytes` is a TickData in a buffer of its own. */
export type EncodedTick = {
  readonly runId: string
  readonly tick: number
  readonly bytes: Uint8Array
}

export type TickHead = { readonly runId: string; readonly tick: number; readonly capturedAt: number }

/** A tick of which the cells (a CellStateList) and the organisms (each an OrganismState) are left undecoded. */
export type RawTick = TickHead & {
  readonly cells: Uint8Array
  readonly organisms: readonly Uint8Array[]
  /** Without a view of each. */
  readonly organismCount: number
}

const TYPE = 'TickData'
const RUN_ID = tagOf(1, DELIMITED)
const TICK_NUMBER = tagOf(2, VARINT)
const CAPTURE_TIME = tagOf(3, VARINT)
const CELLS = tagOf(4, DELIMITED)
const ORGANISMS = tagOf(5, DELIMITED)
/** What the cells of a tick take at least, to leave the right room for their length. */
const LEAST_BYTES_PER_CELL = 4
const BYTES_OF_AN_ORGANISM = 40
const writer = new WireWriter()

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

export function decodeTick(bytes: Uint8Array, limits: ContractLimits = DEFAULT_LIMITS): Tick {
  const organisms: Span[] = []
  const { head, cells } = walk(bytes, limits, span => organisms.push(span))
  return {
    ...head,
    cells: decodeCells(bytes.subarray(cells.start, cells.end), limits),
    organisms: organisms.map(({ start, end }) => readOrganism(bytes, start, end, limits)),
  }
}

/** Views into `bytes`, not copies. */
export function decodeRawTick(bytes: Uint8Array, limits: ContractLimits = DEFAULT_LIMITS): RawTick {
  const { head, cells, organismCount } = walk(bytes, limits)
  let organisms: Uint8Array[] | undefined
  return {
    ...head,
    cells: bytes.subarray(cells.start, cells.end),
    organismCount,
    // Once somebody asks: a hundred views a tick were most of what the garbage collector had to do.
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

export function decodeOrganism(bytes: Uint8Array, limits: ContractLimits = DEFAULT_LIMITS): Organism {
  return readOrganism(bytes, 0, bytes.length, limits)
}

/** Run and number of a tick that came from elsewhere; the whole of it is walked through, but nothing decoded. */
export function toEncodedTick(bytes: Uint8Array, limits: ContractLimits = DEFAULT_LIMITS): EncodedTick {
  const { runId, tick } = walk(bytes, limits).head
  return { runId, tick, bytes }
}

/**
 * Of a tick that came from elsewhere: throws unless all of it can be decoded and no cell is beyond the world (`worldSize`
 * cells; undefined: nobody knows how large it is).
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

/** Run and number only. The rest is passed over; whether it is in order shows when it is decoded. */
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
      // Protobuf would merge the two, and a view that takes the bytes as they are would not: no two answers.
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

/** Ticks as compressed bytes, one row each. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RawTick } from '../contracts/tick-codec.ts'
import { type Packing, pack, unpack } from './packing.ts'
import type { TickBlob, TickBlobs } from './tick-blobs.ts'
import type { Transaction } from './transaction.ts'

/**
 * Rows per statement. Meanwhile the next rows are compressed, which takes about as long as PostgreSQL takes to store
 * them.
 */
const SLICE_TICKS = 25
const SLICE_BYTES = 1024 ** 2

/** Sorted by tick, so that two writers of the same ticks lock them in the same order. */
export async function writePacked(
  blobs: TickBlobs,
  ticks: readonly RawTick[],
  bytesOf: (tick: RawTick) => Uint8Array,
  packing: Packing,
  tx: Transaction,
): Promise<void> {
  const sorted = ticks.toSorted((a, b) => a.tick - b.tick)
  const added: number[] = []
  let writing: Promise<number[]> = Promise.resolve([])
  for (const slice of packedSlices(sorted, bytesOf, packing)) {
    // Yields to the event loop: writes to SQLite do not.
    const [written] = await Promise.all([writing, nextTurn()])
    added.push(...written)
    writing = blobs.write(slice, tx)
    writing.catch(() => undefined) // Awaited above or below, unless packing the next ones fails first.
  }
  added.push(...(await writing))
  await blobs.count(added, tx)
}

function* packedSlices(
  ticks: readonly RawTick[],
  bytesOf: (tick: RawTick) => Uint8Array,
  packing: Packing,
): Generator<TickBlob[], void, undefined> {
  let slice: TickBlob[] = []
  let bytes = 0
  for (const tick of ticks) {
    const data = pack(bytesOf(tick), packing)
    slice.push({ tick: tick.tick, data })
    bytes += data.length
    if (slice.length < SLICE_TICKS && bytes < SLICE_BYTES) continue
    yield slice
    slice = []
    bytes = 0
  }
  if (slice.length > 0) yield slice
}

export async function readPacked(blobs: TickBlobs, tick: number, maxBytes: number): Promise<Uint8Array | null> {
  const data = await blobs.read(tick)
  return data === null ? null : unpack(data, maxBytes, `tick ${tick}`)
}

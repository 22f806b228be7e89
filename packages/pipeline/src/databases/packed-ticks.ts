/** Ticks as packed bytes, one row each. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RawTick } from '../contracts/tick-codec.ts'
import { type Packing, pack, unpack } from './packing.ts'
import type { TickBlob, TickBlobs } from './tick-blobs.ts'
import type { Transaction } from './transaction.ts'

/** Packed and written at a time: others on this thread need not wait for a whole flush, and memory stays small. */
const SLICE_TICKS = 100
const SLICE_BYTES = 2 * 1024 ** 2

/** By tick, so that two who write the same ticks do so in the same order. */
export async function writePacked(
  blobs: TickBlobs,
  ticks: readonly RawTick[],
  bytesOf: (tick: RawTick) => Uint8Array,
  packing: Packing,
  tx: Transaction,
): Promise<void> {
  const sorted = ticks.toSorted((a, b) => a.tick - b.tick)
  let slice: TickBlob[] = []
  let bytes = 0
  for (const tick of sorted) {
    const data = pack(bytesOf(tick), packing)
    slice.push({ tick: tick.tick, data })
    bytes += data.length
    if (slice.length < SLICE_TICKS && bytes < SLICE_BYTES) continue
    await blobs.write(slice, tx)
    slice = []
    bytes = 0
    await nextTurn()
  }
  await blobs.write(slice, tx)
  const numbers = sorted.map(({ tick }) => tick)
  await blobs.count(numbers, tx)
}

export async function readPacked(blobs: TickBlobs, tick: number, maxBytes: number): Promise<Uint8Array | null> {
  const data = await blobs.read(tick)
  return data === null ? null : unpack(data, maxBytes, `tick ${tick}`)
}

import assert from 'node:assert/strict'
import { it } from 'node:test'
// Inside: a failed batch among others in one buffer, which no test can time with a running indexer.
import type { RawTick } from '../../src/contracts/tick-codec.ts'
import { type HeldBatch, TickBuffer } from '../../src/services/indexing/components/buffering.ts'
import type { SourceBatch } from '../../src/services/indexing/sources/batch-source.ts'

const held = (): HeldBatch => ({ batch: {} as SourceBatch, isRead: false, isDropped: false })
const tick = (number: number) => ({ tick: number }) as RawTick

it('a batch that is dropped leaves neither ticks nor bytes nor numbers in the buffer', () => {
  const buffer = new TickBuffer({ maxTicks: 10, maxBytes: 100, timeoutMs: 1_000 })
  const [failed, good] = [held(), held()]
  buffer.add(failed, tick(1), 90)
  buffer.add(good, tick(2), 5)
  assert.equal(buffer.bytes, 95)
  buffer.drop(failed)
  assert.deepEqual([buffer.ticks, buffer.bytes, buffer.batches], [1, 5, 1])
  assert.deepEqual([buffer.has(1), buffer.has(2), buffer.isFull], [false, true, false])
  assert.ok(failed.isDropped)
})

it('a flush completes the batches that were read to their end, and no other', () => {
  const buffer = new TickBuffer({ maxTicks: 10, maxBytes: 100, timeoutMs: 1_000 })
  const [whole, partly] = [held(), held()]
  buffer.add(whole, tick(1), 1)
  buffer.add(partly, tick(2), 1)
  whole.isRead = true
  const taken = buffer.take()
  assert.deepEqual([taken.batches, taken.completed], [[whole, partly], [whole]])
  assert.deepEqual(taken.without(whole).completed, [])
  assert.deepEqual([buffer.ticks, buffer.bytes], [0, 0])
})

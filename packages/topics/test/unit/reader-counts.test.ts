import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ReaderCounts } from '../../src/consume/reader-counts.ts'

it('reports which groups have left, and whether others still share the topic', () => {
  const left: [topic: number, subscription: number, shared: boolean][] = []
  const counts = new ReaderCounts((...reader) => left.push(reader))
  const leave = [counts.add(1, 10), counts.add(1, 10), counts.add(1, 11), counts.add(1, 12), counts.add(2, 20)]
  assert.deepEqual([counts.isShared(1), counts.isShared(2)], [true, false])
  leave[0]?.()
  assert.deepEqual(left, [], 'another consumer of the group is still there')
  for (const each of leave.slice(1)) each()
  assert.deepEqual(left, [
    [1, 10, true],
    [1, 11, false],
    [1, 12, false],
    [2, 20, false],
  ])
  assert.equal(counts.isShared(1), false)
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { discardText, redriveText, waitsOf } from '../src/page/dead-letters/letter-texts.ts'
import { RateMemory } from '../src/page/services/rate-memory.ts'
import { metricOf, troublesOf } from '../src/page/services/service-figures.ts'

const plain = (text: string): string => text.replaceAll('\u202f', ' ')

describe('what an action on dead letters says beforehand', () => {
  it('tells how many return, and which stay and why', () => {
    assert.equal(
      redriveText({ matching: 216, gone: 4, orphaned: 0 }, 'email', 5),
      '212 return to email with 5 attempts each. 4 stay: their messages were cleaned up.',
    )
    assert.equal(
      redriveText({ matching: 2, gone: 0, orphaned: 1 }, 'email', 1),
      '1 returns to email with 1 attempt. 1 stays: its group is gone.',
    )
    assert.equal(
      redriveText({ matching: 3, gone: 3, orphaned: 0 }, 'email', 5),
      'None can return. 3 stay: their messages were cleaned up.',
    )
    assert.equal(discardText(212), '212 dead letters are deleted for good.')
    assert.equal(discardText(1), '1 dead letter is deleted for good.')
  })

  it('writes the times between attempts', () => {
    const at = (seconds: number) => ({ at: new Date(seconds * 1_000).toISOString() })
    assert.equal(plain(waitsOf([at(0), at(1), at(3), at(7)])), '1 s 2 s 4 s')
    assert.equal(waitsOf([at(0)]), '')
  })
})

describe('figures of a service', () => {
  it('are the rate that it tells, or the difference of its main counter', () => {
    const told = new RateMemory()
    assert.deepEqual(told.add({ ticksPerSecond: 20 }, 0), { value: 20, unit: 'ticks/s' })
    const counted = new RateMemory()
    assert.equal(counted.add({ batchesWritten: 10 }, 0), undefined)
    assert.deepEqual(counted.add({ batchesWritten: 20 }, 2_000), { value: 5, unit: 'batches/s' })
    assert.deepEqual(counted.add({ batchesWritten: 1 }, 3_000), { value: 0, unit: 'batches/s' })
    assert.deepEqual(counted.values, [null, 5, 0])
  })

  it('are written with their unit', () => {
    assert.deepEqual(metricOf('flushMsP95', 1_482).map(plain), ['flush P95', '1 s'])
    assert.deepEqual(metricOf('bufferedBytes', 2_041_860).map(plain), ['buffered bytes', '2.0 MB'])
    assert.deepEqual(metricOf('cellsPerSecond', 260_449).map(plain), ['cells', '260 k/s'])
    assert.deepEqual(metricOf('ledgerClaimSuccessRate', 0.5).map(plain), ['ledger claim success rate', '50 %'])
  })

  it('make one line of failures that say the same', () => {
    const failure = (at: string, message: string) => ({ at, action: 'flush', name: 'Error', message })
    const found = troublesOf([failure('1', 'disk is full'), failure('2', 'other'), failure('3', 'disk is full')])
    assert.deepEqual(
      found.map(({ message, times, at }) => [message, times, at]),
      [
        ['disk is full', 2, '3'],
        ['other', 1, '2'],
      ],
    )
  })
})

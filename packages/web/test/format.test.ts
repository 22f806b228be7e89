import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, count, duration, plural, rate, whole } from '../src/page/format.ts'

const plain = (text: string): string => text.replaceAll('\u202f', ' ')

test('writes counts in five characters at most from 10 000 on', () => {
  const written = [0, 7, 1_203, 9_999, 48_210, 999_949, 1_200_000, 3_000_000_000].map(value => plain(count(value)))
  assert.deepEqual(written, ['0', '7', '1 203', '9 999', '48.2 k', '1.0 M', '1.2 M', '3.0 G'])
  assert.equal(plain(whole(1_234_567)), '1 234 567')
  assert.equal(count(Number.NaN), '–')
})

test('writes rates, sizes and durations', () => {
  assert.deepEqual([0, 0.34, 4.2, 310.4].map(rate), ['0', '0.3', '4.2', '310'])
  assert.deepEqual(
    [0, 999, 1_500, 3_100_000, 2e9].map(value => plain(bytes(value))),
    ['0 B', '999 B', '1.5 kB', '3.1 MB', '2.0 GB'],
  )
  assert.deepEqual(
    [240, 4_300, 720_000, 3 * 3_600_000, 2 * 86_400_000].map(value => plain(duration(value))),
    ['240 ms', '4 s', '12 min', '3 h', '2 d'],
  )
  assert.deepEqual([plural(1, 'retry', 'retries'), plural(2, 'retry', 'retries')], ['1 retry', '2 retries'])
})

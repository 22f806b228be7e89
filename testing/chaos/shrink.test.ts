import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Rule } from './check/violation.ts'
import type { RunResult } from './run.ts'
import { shrink } from './shrink.ts'

const FAULTS = 12

/** A run of these events, in which the rule is violated or none. */
const ran = (numbers: readonly number[], rule: Rule | undefined): RunResult => ({
  ...{ engine: 'sqlite', seed: 1, seconds: 60, missing: [], paths: {}, unreached: [] },
  events: numbers.map(number => ({ number, at: number, fault: 'kill', done: true })),
  violations: rule === undefined ? [] : [{ rule, what: 'of this run' }],
  totals: { published: 0, deliveries: 0, acks: 0, kills: 0 },
  historyOf: () => [],
})

/** The numbers that are left, and those of every run, if the rule is violated whenever all of `causes` come. */
async function shrunk(causes: readonly number[], otherwise?: Rule): Promise<{ left: number[]; runs: number }> {
  const all = Array.from({ length: FAULTS }, (_, number) => number)
  let runs = 0
  const smallest = await shrink(ran(all, 'lost'), async numbers => {
    runs++
    return ran(numbers, causes.every(cause => numbers.includes(cause)) ? 'lost' : otherwise)
  })
  return { left: smallest.events.map(({ number }) => number), runs }
}

describe('a failed run', () => {
  for (const cause of [0, 5, 11]) {
    it(`is shrunk to the one fault that matters, #${cause}`, async () => {
      assert.deepEqual((await shrunk([cause])).left, [cause])
    })
  }

  it('keeps all faults that matter, and ends after ten runs', async () => {
    const { left, runs } = await shrunk([3, 7])
    assert.ok(left.includes(3) && left.includes(7) && left.length <= 4, String(left))
    assert.ok(runs <= 10)
  })

  it('is not taken for one that violates another rule', async () => {
    assert.deepEqual((await shrunk([5], 'stuck')).left, [5])
  })
})

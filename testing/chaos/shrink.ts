/** Looks for fewer faults that show a violation of the same rule: halves first, then one by one. */
import type { RunResult } from './run.ts'

/** Each takes as long as the run itself. */
const MOST_RUNS = 10

export async function shrink(
  failed: RunResult,
  runWith: (events: readonly number[]) => Promise<RunResult>,
): Promise<RunResult> {
  const rules = new Set(failed.violations.map(({ rule }) => rule))
  let smallest = failed
  let runs = 0
  const numbers = (): number[] => smallest.events.filter(({ done }) => done).map(({ number }) => number)
  for (
    let size = Math.ceil(numbers().length / 2);
    size >= 1 && runs < MOST_RUNS;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let start = 0; start < numbers().length && runs < MOST_RUNS; ) {
      const events = numbers().toSpliced(start, size)
      if (events.length === 0) break
      console.log(`  shrinking: without ${size} of ${numbers().length} faults`)
      runs++
      const result = await runWith(events)
      if (result.violations.some(({ rule }) => rules.has(rule))) smallest = result
      else start += size
    }
  }
  console.log(`  shrunk to ${smallest.events.map(({ number, fault }) => `#${number} ${fault}`).join(', ')}`)
  return smallest
}

import { describe } from 'node:test'
import fc from 'fast-check'
import type { ConformanceStores } from '../conformance-store.ts'
import { it } from '../it.ts'
import { type CleanUpCommand, CleanUpRun } from './clean-up-run.ts'
import { runsOf } from './runs.ts'
import { TestStore } from './test-store.ts'

const group = fc.nat({ max: 2 })
const lease = fc.nat({ max: 20 })
const slots = fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 4 })
const command: fc.Arbitrary<CleanUpCommand> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 6 }) }) },
  {
    weight: 7,
    arbitrary: fc.record({ do: fc.constant('claim' as const), group, limit: fc.integer({ min: 1, max: 8 }) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('ack' as const), lease, slots: fc.constant('all' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('ack' as const, 'nack' as const), lease, slots }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('pause' as const, 'resume' as const, 'kill' as const, 'revive' as const, 'run out' as const),
      group,
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('age' as const), hours: fc.constantFrom(0.4, 2, 2, 6) }) },
  { weight: 5, arbitrary: fc.constant({ do: 'clean up' as const }) },
)

export function cleanUpModel({ shared }: ConformanceStores): void {
  for (const of of shared) {
    describe(`invariant 6 on ${of.name}: watermarks never decrease, and nothing above one is removed before its cap`, () => {
      it('holds for any commands; what the cap removes is counted exactly', async t => {
        await using store = await TestStore.create(of)
        let runs = 0
        const seen = { removed: 0, lost: 0 }
        await fc.assert(
          fc.asyncProperty(fc.array(command, { maxLength: 80, size: 'max' }), async commands => {
            const run = await CleanUpRun.create(store, `topic-${++runs}`)
            for (const each of commands) await run.do(each)
            await run.finish()
            seen.removed += run.removed
            seen.lost += run.lost
          }),
          runsOf({ runs: 6, longestSeconds: 90 }),
        )
        t.diagnostic(`${runs} runs, ${seen.removed} messages removed, ${seen.lost} of them lost to groups`)
      })
    })
  }
}

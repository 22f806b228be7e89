import type { Batch } from '@tidemark/pipeline'
import fc from 'fast-check'
import { batchOf } from '../batches.ts'
import type { World } from './model.ts'

export type Command =
  /** An instance finds a batch in the storage. */
  | { readonly do: 'tryClaim'; readonly batch: number }
  | { readonly do: 'claimNext' }
  /** Of all claims ever given, lost ones too; one that was taken over is a late claimer. */
  | { readonly do: 'complete' | 'fail' | 'release' | 'extend'; readonly claim: number }
  | { readonly do: 'retry' | 'record'; readonly batch: number }
  | { readonly do: 'report' }
  /** Nothing happens for this many minutes; claims of a crashed instance stay. */
  | { readonly do: 'wait'; readonly minutes: number }

export type Scenario = {
  readonly world: World
  readonly batches: readonly Batch[]
  readonly commands: readonly Command[]
}

const index = fc.nat({ max: 1_000 })

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('tryClaim' as const), batch: index }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('claimNext' as const) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('complete' as const), claim: index }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('fail', 'release', 'extend'), claim: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('retry', 'record'), batch: index }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('report' as const) }) },
  // Half a claim's time, more than it, and enough for gaps.
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.constantFrom(3, 6, 61) }) },
)

const world: fc.Arbitrary<World> = fc.record({
  samplingInterval: fc.constantFrom(1, 10),
  firstTick: fc.constantFrom(0, 0, null),
  releases: fc.boolean(),
})

/** Batches one after the other, of any sizes, and a few that overlap them. */
const shape = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 8 }),
  overlapping: fc.array(fc.tuple(fc.nat({ max: 20 }), fc.integer({ min: 1, max: 6 })), { maxLength: 2 }),
})

export const scenario: fc.Arbitrary<Scenario> = fc
  .record({ world, shape, commands: fc.array(command, { maxLength: 40, size: 'max' }) })
  .map(({ world, shape: { sizes, overlapping }, commands }) => {
    const total = sizes.reduce((sum, size) => sum + size, 0)
    const starts = sizes.map((_, at) => sizes.slice(0, at).reduce((sum, size) => sum + size, 0))
    const spans = [
      ...sizes.map((size, at) => [starts[at] ?? 0, size] as const),
      ...overlapping.map(([start, size]) => [start % total, Math.min(size, total - (start % total))] as const),
    ]
    const batches = spans.map(([start, size], at) => {
      const { key, ...ticks } = batchOf(start * world.samplingInterval, (start + size - 1) * world.samplingInterval)
      return { ...ticks, key: `${key}.${at}` }
    })
    return { world, batches, commands }
  })

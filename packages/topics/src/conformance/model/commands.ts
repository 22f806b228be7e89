import fc from 'fast-check'
import type { Suspects } from '../../stores/leases.ts'

/** Plain data, so that a counterexample is readable. Numbers are taken modulo the number of things they select from. */
export type Command =
  | { readonly do: 'publish'; readonly messages: readonly (number | null)[] }
  | { readonly do: 'subscribe'; readonly group: number; readonly from: 'beginning' | 'now' }
  | {
      readonly do: 'claim'
      readonly group: number
      readonly consumer: number
      readonly limit: number
      readonly suspects: Suspects
      readonly sweep: boolean
      readonly forget: boolean
      readonly shared: boolean
    }
  | { readonly do: 'settle'; readonly of: readonly SettleCommand[]; readonly again: boolean }
  | { readonly do: 'extend'; readonly lease: number; readonly among: Among }
  | { readonly do: 'run out'; readonly lease: number | 'all' }
  | { readonly do: 'make due'; readonly group: number }
  | { readonly do: 'forget closed'; readonly group: number }
  | { readonly do: 'crash'; readonly consumer: number }
  | { readonly do: 'pause' | 'resume'; readonly group: number }
  | { readonly do: 'restart' }

/**
 * `live`: leases whose consumer may still settle them. `any`: also those closed, taken over, forgotten, or of crashed
 * consumers.
 */
export type Among = 'live' | 'any'
type SlotFate = 'ack' | 'nack' | 'nack far' | 'release' | 'leave'
/** `fates`: applied to the slots in turn, repeatedly; 'all' acknowledges the whole lease. */
export type SettleCommand = {
  readonly lease: number
  readonly among: Among
  readonly fates: readonly SlotFate[] | 'all'
}

export type Scenario = {
  readonly semantics: 'queue' | 'pub-sub'
  readonly maxAttempts: number
  readonly partitionRows: number
  readonly commands: readonly Command[]
}

export const GROUPS = 3
const CONSUMERS = 3
const CALLER_IDS = 6
const SMALLEST_PARTITION = 16

const group = fc.nat({ max: GROUPS - 1 })
const consumer = fc.nat({ max: CONSUMERS - 1 })
const lease = fc.nat({ max: 20 })
const among = fc.constantFrom<Among>('live', 'live', 'live', 'any')
const mostly = fc.constantFrom(true, true, true, false)
const seldom = fc.constantFrom(false, false, false, true)

const fate = fc.constantFrom<SlotFate>('ack', 'ack', 'nack', 'nack far', 'release', 'leave')
const fates = fc.oneof(fc.constant('all' as const), fc.array(fate, { minLength: 1, maxLength: 4 }))
const settlement: fc.Arbitrary<SettleCommand> = fc.record({ lease, among, fates })

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: publish() },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('subscribe' as const), group, from: fc.constantFrom('beginning', 'now') }),
  },
  { weight: 9, arbitrary: claim() },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('settle' as const), of: settlements(), again: seldom }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('extend' as const), lease, among }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('run out' as const), lease: fc.oneof(lease, fc.constant('all' as const)) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('make due' as const), group }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget closed' as const), group }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), consumer }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'resume' as const, 'resume' as const), group }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
)

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  semantics: fc.constantFrom('pub-sub', 'pub-sub', 'queue'),
  maxAttempts: fc.integer({ min: 1, max: 4 }),
  partitionRows: fc.constantFrom(1_000_000, SMALLEST_PARTITION),
  commands: fc.array(command, { maxLength: 100, size: 'max' }),
})

function publish(): fc.Arbitrary<Command> {
  const callerId = fc.oneof(
    { weight: 3, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.nat({ max: CALLER_IDS }) },
  )
  return fc.record({
    do: fc.constant('publish' as const),
    messages: fc.array(callerId, { minLength: 1, maxLength: 6 }),
  })
}

function claim(): fc.Arbitrary<Command> {
  const limit = fc.integer({ min: 1, max: 10 })
  const suspects = fc.constantFrom<Suspects>('alone', 'alone', 'shared', 'none')
  const flags = { suspects, sweep: mostly, forget: seldom, shared: seldom }
  return fc.record({ do: fc.constant('claim' as const), group, consumer, limit, ...flags })
}

function settlements(): fc.Arbitrary<SettleCommand[]> {
  return fc.oneof(
    { weight: 4, arbitrary: settlement.map(each => [each]) },
    { weight: 1, arbitrary: fc.array(settlement, { minLength: 2, maxLength: 3 }) },
  )
}

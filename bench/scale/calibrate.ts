import type { Costs, Load } from './costs.ts'
import type { Measured } from './measure.ts'
import { simulate } from './simulate.ts'

/** Small loads that tell the costs apart: each differs from another in one respect. */
export const SMALL = {
  almostNothing: { messages: 100, batch: 100, groups: 8, page: 100, live: false },
  smallBatches: { messages: 15_000, batch: 50, groups: 1, page: 100, live: false },
  largePages: { messages: 40_000, batch: 1_000, groups: 1, page: 1_000, live: false },
  fourGroups: { messages: 30_000, batch: 1_000, groups: 4, page: 1_000, live: false },
  fourSmallPages: { messages: 8_000, batch: 1_000, groups: 4, page: 100, live: false },
  live: { messages: 20_000, batch: 100, groups: 2, page: 500, live: true },
} as const satisfies { readonly [name: string]: Load }

/** Of one round. */
type Samples = { readonly [name in keyof typeof SMALL]: Measured }

/** Solves for the costs: two sizes of batches and of pages, each of one group and of four. */
export function costsOf(samples: Samples): Costs {
  const of = (name: keyof Samples, part: 'publishing' | 'consuming'): number => samples[name][part] * 1e6
  const { smallBatches: small, largePages: large } = SMALL
  const publish = line(
    { size: small.batch, each: of('smallBatches', 'publishing') / (small.messages / small.batch) },
    { size: large.batch, each: of('largePages', 'publishing') / (large.messages / large.batch) },
  )
  // Eight groups start and take a page each; the page is small next to the start.
  const start = of('almostNothing', 'consuming') / SMALL.almostNothing.groups
  // Of one turn, in which each group takes a page.
  const turn = (name: 'smallBatches' | 'largePages' | 'fourGroups' | 'fourSmallPages'): Point => {
    const { messages, page, groups } = SMALL[name]
    return { size: page, each: Math.max(0, of(name, 'consuming') - start * groups) / (messages / page) }
  }
  const ofOne = line(turn('smallBatches'), turn('largePages'))
  const ofFour = line(turn('fourSmallPages'), turn('fourGroups'))
  const more = SMALL.fourGroups.groups - 1
  const part = (four: number, one: number): number => Math.min(one, Math.max(0, (four - one) / more))
  const page = part(ofFour.fixed, ofOne.fixed)
  const delivered = part(ofFour.perMessage, ofOne.perMessage)
  const costs = {
    start,
    batch: publish.fixed,
    published: publish.perMessage,
    turn: ofOne.fixed - page,
    page,
    read: ofOne.perMessage - delivered,
    delivered,
    wake: 0,
  }
  // What a live stream takes beyond that: groups are woken, and look for more than they find.
  const { live } = SMALL
  const extra = of('live', 'consuming') - simulate(live, costs).seconds * 1e6
  return { ...costs, wake: Math.max(0, extra / ((live.messages / live.batch) * live.groups)) }
}

type Point = { readonly size: number; readonly each: number }

/** The line through two points: a fixed cost, and one per message. */
function line(a: Point, b: Point): { readonly fixed: number; readonly perMessage: number } {
  const perMessage = (b.each - a.each) / (b.size - a.size)
  return { fixed: Math.max(0, a.each - a.size * perMessage), perMessage }
}

import type { Costs } from './costs.ts'
import { simulate } from './simulate.ts'

/** Messages a second that are wanted, over a day of work, and how they are spread. */
export type Demand = {
  readonly perSecond: number
  readonly groups: number
  readonly batch: number
  readonly page: number
  /** Different keys, of which some are used more often: the nth most frequent one 1/√n as often as the first. */
  readonly keys: number
  readonly partitions: number
}

type Plan = {
  readonly servers: number
  /** Load of the busiest server, next to the mean of all. */
  readonly skew: number
  /** Of one process that does nothing else, messages a second with all groups. */
  readonly perProcess: number
}

/** Share of a processor that the work may take: the rest is for bursts and for catching up after a fault. */
const HEADROOM = 0.5
const SAMPLE = 200_000

/**
 * How many processes on servers of their own a demand takes, if the topic is split into partitions by key and the
 * partitions are dealt out to the servers. Keys are not equally frequent, so the busiest server decides.
 */
export function plan(demand: Demand, costs: Costs): Plan {
  const { groups, batch, page } = demand
  const load = { messages: SAMPLE, batch, groups, page, live: true }
  const perProcess = SAMPLE / simulate(load, costs).seconds
  const shares = sharesOf(demand)
  for (let servers = 1; servers <= demand.partitions; servers++) {
    const busiest = Math.max(...loadsOf(shares, servers))
    if (busiest * demand.perSecond <= perProcess * HEADROOM) return { servers, skew: busiest * servers, perProcess }
  }
  return { servers: Number.POSITIVE_INFINITY, skew: Math.max(...shares) * demand.partitions, perProcess }
}

/** Share of the messages that each partition gets: a partition is the hash of the key. */
function sharesOf({ keys, partitions }: Demand): number[] {
  const shares = new Array<number>(partitions).fill(0)
  let sum = 0
  for (let key = 1; key <= keys; key++) sum += key ** -0.5
  for (let key = 1; key <= keys; key++) {
    const partition = hash(key) % partitions
    shares[partition] = (shares[partition] ?? 0) + key ** -0.5 / sum
  }
  return shares
}

/** The largest partitions first, each to the server that has the least so far. */
function loadsOf(shares: readonly number[], servers: number): number[] {
  const loads = new Array<number>(servers).fill(0)
  for (const share of shares.toSorted((a, b) => b - a)) {
    const least = loads.indexOf(Math.min(...loads))
    loads[least] = (loads[least] ?? 0) + share
  }
  return loads
}

/** FNV-1a of the key's digits: the same in every run. */
function hash(key: number): number {
  let value = 0x811c9dc5
  for (const digit of String(key)) value = Math.imul(value ^ digit.charCodeAt(0), 0x01000193) >>> 0
  return value
}

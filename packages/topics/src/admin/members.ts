import type { Runtime } from '../runtime.ts'
import type { LeaseHolder } from '../stores/leases.ts'
import { type ConsumerHealth, consumers } from './consumers.ts'
import { findGroup } from './find-records.ts'

/** A process that consumes for a group, or an HTTP client that holds messages of it. */
export type GroupMember = {
  /** Names of its consumers, joined by commas. */
  readonly consumer: string
  /** Host of the process; null for an HTTP client, and for a process that is gone and still holds messages. */
  readonly host: string | null
  /** Process id; null as `host`. */
  readonly pid: number | null
  /** Start of its first consumer; null as `host`. */
  readonly since: Date | null
  /**
   * Number of messages it holds; null if another process has consumers with the same names, so that they can't be
   * distinguished.
   */
  readonly inFlight: number | null
  /** Time at which its first claim expires; null if it has none that does. */
  readonly until: Date | null
}

/** Sorted by name and process. A claim is held by all consumers that a process has in the group. */
export async function members(runtime: Runtime, topic: string, group: string): Promise<GroupMember[]> {
  const records = await findGroup(runtime, topic, group)
  const found = await consumers(runtime, topic, { group: records.subscription.group })
  const processes = [...Map.groupBy(found, ({ instance }) => instance)].map(([instance, each]) =>
    toProcess(instance, each),
  )
  const holders = await runtime.store.leases.holders(records.topic, records.subscription)
  const owners = new Map(holders.map(holder => [holder, processes.filter(each => isHeldBy(holder, each))] as const))
  const members = processes.map(process => toMember(process, owners))
  const others = holders.filter(holder => owners.get(holder)?.length === 0)
  return [...members, ...others.map(toStranger)].toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
}

type Process = { readonly names: readonly string[]; readonly host: string; readonly pid: number; readonly since: Date }

/** An instance is `host/pid/suffix`. */
function toProcess(instance: string, found: readonly ConsumerHealth[]): Process {
  const parts = instance.split('/')
  return {
    names: found.map(({ consumer }) => consumer),
    host: parts.slice(0, -2).join('/'),
    pid: Number(parts.at(-2)),
    since: new Date(Math.min(...found.map(({ startedAt }) => startedAt.getTime()))),
  }
}

const isHeldBy = ({ consumer }: LeaseHolder, { names }: Process): boolean =>
  consumer.split(',').some(name => names.includes(name))

function toMember(process: Process, owners: ReadonlyMap<LeaseHolder, readonly Process[]>): GroupMember {
  const held = [...owners].filter(([, each]) => each.includes(process))
  const isTold = held.every(([, each]) => each.length === 1)
  const deadlines = held.flatMap(([{ until }]) => (until === null ? [] : [until]))
  return {
    consumer: process.names.join(','),
    host: process.host,
    pid: process.pid,
    since: process.since,
    inFlight: isTold ? held.reduce((sum, [{ inFlight }]) => sum + inFlight, 0) : null,
    until: isTold && deadlines.length > 0 ? new Date(Math.min(...deadlines)) : null,
  }
}

const toStranger = ({ consumer, inFlight, until }: LeaseHolder): GroupMember => ({
  ...{ consumer, host: null, pid: null, since: null, inFlight },
  until: until === null ? null : new Date(until),
})

const keyOf = ({ consumer, host, pid }: GroupMember): string => [consumer, host, pid].join('/')

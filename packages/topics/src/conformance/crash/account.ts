import type { DeadLetterMessage } from '../../index.ts'
import type { ConsumerEntry, PublisherEntry, Stamp } from './journal.ts'

export type GroupRecord = {
  readonly group: string
  readonly entries: readonly (ConsumerEntry & Stamp)[]
  readonly deadLetters: readonly DeadLetterMessage[]
}

/**
 * Violations in the journals of a drained topic; empty if everything is correct. A consumer killed between `acking` and
 * `acked` leaves the outcome open; since the topic is drained, that ack must have succeeded.
 */
export function findViolations(
  published: readonly (PublisherEntry & Stamp)[],
  groups: readonly GroupRecord[],
  maxAttempts: number,
): string[] {
  return [
    ...groups.flatMap(group => [
      ...accountFor(published, group),
      ...findPhantoms(published, group),
      ...findRepeats(group),
      ...findWrongDeaths(group, maxAttempts),
    ]),
    ...findDifferences(groups),
    ...findTornBatches(published, groups),
    ...findTwins(published, groups),
  ]
}

/** Invariant 1: each acknowledged publish was acked by each group, or is among its dead letters, and not both. */
function accountFor(published: readonly PublisherEntry[], { group, entries, deadLetters }: GroupRecord): string[] {
  const acknowledged = published.filter(entry => entry.kind === 'acknowledged').map(entry => entry.key)
  const dead = new Set(deadLetters.map(keyOf))
  const acked = new Set(entries.filter(entry => entry.kind === 'acked').map(entry => entry.key))
  const perhaps = new Set(
    lastVersions(entries)
      .filter(isLeftAcking(entries))
      .map(entry => entry.key),
  )
  return [...new Set(acknowledged)].flatMap(key => {
    if (dead.has(key)) return acked.has(key) ? [`${group}: ${key} was acked and is a dead letter`] : []
    if (acked.has(key) || perhaps.has(key)) return []
    return [`${group}: ${key} was neither acked nor is it a dead letter: ${historyOf(key, entries)}`]
  })
}

/** Invariant 1: nothing is delivered that nobody intended to publish. */
function findPhantoms(published: readonly PublisherEntry[], { group, entries }: GroupRecord): string[] {
  const intended = new Set(published.map(entry => entry.key))
  return entries.filter(entry => !intended.has(entry.key)).map(entry => `${group}: ${entry.key} came from nowhere`)
}

/** Invariants 2 and 3: one delivery per version, one ack per message, and no version after the acked one. */
function findRepeats({ group, entries }: GroupRecord): string[] {
  const ackedVersion = new Map<string, number>()
  const seen = new Set<string>()
  const violations: string[] = []
  for (const { kind, key, version } of entries.filter(entry => entry.kind === 'acked')) {
    if (ackedVersion.has(key)) violations.push(`${group}: ${key} was ${kind} twice: ${historyOf(key, entries)}`)
    ackedVersion.set(key, version)
  }
  for (const { key, version } of entries.filter(entry => entry.kind === 'delivered')) {
    const delivery = `${key} version ${version}`
    if (seen.has(delivery)) violations.push(`${group}: ${delivery} was delivered twice: ${historyOf(key, entries)}`)
    if (version > (ackedVersion.get(key) ?? version)) {
      violations.push(`${group}: ${delivery} was delivered after an ack: ${historyOf(key, entries)}`)
    }
    seen.add(delivery)
  }
  return violations
}

/** Invariant 4: exactly the bad messages are dead letters, once each, after their last attempt. */
function findWrongDeaths({ group, entries, deadLetters }: GroupRecord, maxAttempts: number): string[] {
  const counts = new Map<string, number>()
  for (const letter of deadLetters) counts.set(keyOf(letter), (counts.get(keyOf(letter)) ?? 0) + 1)
  return [
    ...[...counts].filter(([, count]) => count > 1).map(([key, count]) => `${group}: ${key} died ${count} times`),
    ...[...counts.keys()].filter(key => !key.startsWith('bad')).map(key => `${group}: ${key} died, and was good`),
    ...deadLetters
      .filter(letter => letter.attempts !== maxAttempts || letter.history.length !== maxAttempts)
      .map(letter => `${group}: ${keyOf(letter)} died of ${letter.attempts} attempts, ${letter.history.length} told`),
    ...entries
      .filter(entry => entry.attempt > maxAttempts)
      .map(entry => `${group}: ${entry.key} was tried for the ${entry.attempt}th time`),
  ]
}

/** All groups started at the beginning, so all have received the same messages. */
function findDifferences(groups: readonly GroupRecord[]): string[] {
  const met = groups.map(({ entries }) => new Set(entries.map(entry => entry.key)))
  const all = met.reduce((union, keys) => union.union(keys), new Set<string>())
  return groups.flatMap(({ group }, index) =>
    [...all.difference(met[index] ?? all)].map(key => `${key} reached others and never ${group}`),
  )
}

/** A batch is published as a whole or not at all. */
function findTornBatches(published: readonly PublisherEntry[], groups: readonly GroupRecord[]): string[] {
  const met = new Set(groups.flatMap(({ entries }) => entries.map(entry => entry.key)))
  const batches = Map.groupBy(
    published.filter(entry => entry.kind === 'intended' && entry.batch !== undefined),
    entry => (entry.kind === 'intended' ? entry.batch : undefined),
  )
  return [...batches].flatMap(([batch, entries]) => {
    const there = entries.filter(entry => met.has(entry.key)).length
    return there === 0 || there === entries.length ? [] : [`${there} of ${entries.length} of batch ${batch} are there`]
  })
}

/** A message is in the log once, even if it was published again because its outcome was unknown. */
function findTwins(published: readonly PublisherEntry[], groups: readonly GroupRecord[]): string[] {
  const ids = new Map<string, Set<number>>()
  const note = (key: string, id: number): void => void ids.set(key, (ids.get(key) ?? new Set()).add(id))
  for (const entry of published) if (entry.kind === 'acknowledged') note(entry.key, entry.id)
  for (const { entries } of groups) for (const { key, id } of entries) note(key, id)
  return [...ids].filter(([, each]) => each.size > 1).map(([key, each]) => `${key} stands in the log as ${[...each]}`)
}

function lastVersions(entries: readonly ConsumerEntry[]): ConsumerEntry[] {
  const last = new Map<string, ConsumerEntry>()
  for (const entry of entries) if (entry.version >= (last.get(entry.key)?.version ?? 0)) last.set(entry.key, entry)
  return [...last.values()]
}

const isLeftAcking =
  (entries: readonly ConsumerEntry[]) =>
  ({ key, version }: ConsumerEntry): boolean =>
    entries.findLast(entry => entry.key === key && entry.version === version)?.kind === 'acking'

const keyOf = ({ payload }: DeadLetterMessage): string => JSON.parse(String(payload)).key

const historyOf = (key: string, entries: readonly (ConsumerEntry & Partial<Stamp>)[]): string =>
  entries
    .filter(entry => entry.key === key)
    .map(({ at, pid, kind, version }) => `${at} ${pid} ${kind} ${version}`)
    .join(', ') || 'never delivered'

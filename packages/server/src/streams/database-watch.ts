import type { GroupHealth, Stats, TopicStats } from 'tidemark'
import type { Sums } from './activity.ts'

/** A difference between two reads of the database. */
type Change = { readonly topic: string } & (
  | { readonly kind: 'topic-appeared' | 'topic-gone' }
  | { readonly kind: 'group-appeared'; readonly group: string; readonly status: string }
  | { readonly kind: 'group-gone'; readonly group: string }
  | { readonly kind: 'group-status'; readonly group: string; readonly status: string; readonly before: string }
  | { readonly kind: 'dead-letters'; readonly group: string; readonly deadLetters: number; readonly before: number }
)

export type Seen = { readonly changes: readonly Change[]; readonly sums: ReadonlyMap<string, Sums> }

const COUNTED = ['published', 'received', 'acked'] as const
type Counts = { readonly [name in (typeof COUNTED)[number]]: number }
const NONE: Counts = { published: 0, received: 0, acked: 0 }

/**
 * Derives the activity of other processes from two reads of the database: how many messages were published, how far the
 * groups' cursors have moved, and which topics and groups were added, removed or changed. What this process has done
 * itself was reported as it happened, and is subtracted.
 */
export class DatabaseWatch {
  #before: Stats | undefined
  /**
   * What this process had reported at the last read, by topic, and the database did not show yet: our own activity is
   * known sooner.
   */
  readonly #ahead = new Map<string, Counts>()

  /** `own`: what this process has reported from the last read until after this one. */
  compare(now: Stats, own: ReadonlyMap<string, Sums>): Seen {
    const before = this.#before
    this.#before = now
    if (before === undefined) return { changes: [], sums: new Map() }
    const sums = new Map<string, Sums>()
    for (const [topic, stats] of Object.entries(now.topics)) {
      const was = before.topics[topic]
      // A topic that was recreated under its name starts again.
      const isSame = was === undefined || stats.messagesPublished >= was.messagesPublished
      const counted = isSame ? minus(countsOf(stats, was), was === undefined ? NONE : countsOf(was, stats)) : NONE
      const others = minus(counted, { ...NONE, ...own.get(topic) })
      const told = mapped(plus(this.#ahead.get(topic) ?? NONE, others), count => Math.max(0, count))
      // For one read only: redeliveries, which move no cursor, must not hide the activity of others for ever.
      this.#ahead.set(
        topic,
        mapped(others, count => Math.min(0, count)),
      )
      const positive = Object.entries(told).filter(([, count]) => count > 0)
      if (positive.length > 0) sums.set(topic, Object.fromEntries(positive))
    }
    for (const topic of this.#ahead.keys()) if (now.topics[topic] === undefined) this.#ahead.delete(topic)
    return { changes: changesOf(before, now), sums }
  }
}

/**
 * `among`: only groups that this has too. A removed group subtracts nothing; before the start of a new group, nothing
 * was received.
 */
function countsOf({ messagesPublished, groups }: TopicStats, among?: TopicStats): Counts {
  // The only group of a queue starts at the beginning, whenever it is created.
  const counts = (name: string): boolean => among === undefined || name === '' || among.groups[name] !== undefined
  const counted = Object.entries(groups).filter(([name]) => counts(name))
  const sum = (countOf: (group: GroupHealth) => number): number =>
    counted.reduce((total, [, group]) => total + countOf(group), 0)
  return {
    published: messagesPublished,
    received: sum(({ lagMessages }) => messagesPublished - lagMessages),
    acked: sum(group => messagesPublished - group.lagMessages - group.inFlight - group.retries - group.deadLetters),
  }
}

function changesOf(before: Stats, now: Stats): Change[] {
  const changes: Change[] = []
  for (const topic of Object.keys(before.topics)) {
    if (now.topics[topic] === undefined) changes.push({ kind: 'topic-gone', topic })
  }
  for (const [topic, { groups }] of Object.entries(now.topics)) {
    const was = before.topics[topic]
    if (was === undefined) changes.push({ kind: 'topic-appeared', topic })
    for (const group of Object.keys(was?.groups ?? {})) {
      if (groups[group] === undefined) changes.push({ kind: 'group-gone', topic, group })
    }
    for (const [group, health] of Object.entries(groups)) changes.push(...groupChanges(was?.groups[group], health))
  }
  return changes
}

function groupChanges(was: GroupHealth | undefined, { topic, group, status, deadLetters }: GroupHealth): Change[] {
  if (was === undefined) return [{ kind: 'group-appeared', topic, group, status }]
  const changes: Change[] = []
  if (was.status !== status) changes.push({ kind: 'group-status', topic, group, status, before: was.status })
  if (was.deadLetters !== deadLetters) {
    changes.push({ kind: 'dead-letters', topic, group, deadLetters, before: was.deadLetters })
  }
  return changes
}

const minus = (a: Counts, b: Counts): Counts => combined(a, b, (one, other) => one - other)
const plus = (a: Counts, b: Counts): Counts => combined(a, b, (one, other) => one + other)

const combined = (a: Counts, b: Counts, combine: (one: number, other: number) => number): Counts => ({
  published: combine(a.published, b.published),
  received: combine(a.received, b.received),
  acked: combine(a.acked, b.acked),
})

const mapped = (counts: Counts, map: (count: number) => number): Counts => combined(counts, counts, map)

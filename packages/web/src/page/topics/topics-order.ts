import type { TopicLive } from '../shapes.ts'

export const lagOf = ({ totals }: TopicLive): number => totals.lagMessages

type Order = { readonly of: (topic: TopicLive) => number | string; readonly first: 'ascending' | 'descending' }

/** Orders by their name in the address. Names are sorted from a, numbers from the largest. */
export const ORDERS: { readonly [name: string]: Order } = {
  name: { of: ({ topic }) => topic, first: 'ascending' },
  lag: { of: lagOf, first: 'descending' },
  rate: { of: ({ publishedPerSecond }) => publishedPerSecond, first: 'descending' },
  kept: { of: ({ kept }) => kept, first: 'descending' },
  size: { of: ({ bytes }) => bytes ?? -1, first: 'descending' },
  oldest: { of: ({ oldestAt }) => oldestAt ?? '~', first: 'ascending' },
  groups: { of: ({ totals }) => totals.groups, first: 'descending' },
}

export type Sorted = { readonly by: string; readonly direction: 'ascending' | 'descending' }

/** `sort=lag`, and `sort=-lag` for the other direction. */
export function sortedBy(given: string | null): Sorted {
  const by = (given ?? '').replace(/^-/, '')
  const order = ORDERS[by]
  if (order === undefined) return { by: 'name', direction: 'ascending' }
  const isTurned = given?.startsWith('-') === true
  return { by, direction: isTurned ? OTHER[order.first] : order.first }
}

const OTHER = { ascending: 'descending', descending: 'ascending' } as const

/** The address for a selected order: the current one is reversed. */
export const choose = ({ by, direction }: Sorted, chosen: string): string =>
  chosen === by && direction === ORDERS[by]?.first ? `-${chosen}` : chosen

/**
 * Topics whose name, or the name of a group, contains the words; ties are sorted by name, so that rows don't change
 * places.
 */
export function ordered(topics: readonly TopicLive[], words: string, { by, direction }: Sorted): readonly TopicLive[] {
  const wanted = words.trim().toLowerCase()
  const has = (name: string): boolean => name.toLowerCase().includes(wanted)
  const of = ORDERS[by]?.of ?? (({ topic }) => topic)
  const sign = direction === 'ascending' ? 1 : -1
  return topics
    .filter(({ topic, groups }) => has(topic) || groups.some(({ group }) => has(group)))
    .map(topic => [of(topic), topic] as const)
    .sort(([a, one], [b, other]) => (a === b ? (one.topic < other.topic ? -1 : 1) : (a < b ? -1 : 1) * sign))
    .map(([, topic]) => topic)
}

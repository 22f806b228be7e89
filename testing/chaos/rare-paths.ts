/** Paths that a run must really have taken to count, and how often each was. */
import type { EventEntry, Stamped } from './journal.ts'

export const RARE_PATHS = [
  'stale settlements',
  'take-overs',
  'resurrections',
  'dead letters',
  'unknown outcomes',
] as const

export type RarePath = (typeof RARE_PATHS)[number]

export type PathCounts = { readonly [path: string]: number }

const EVENTS: { readonly [name: string]: string } = {
  stale: 'stale settlements',
  'taken-over': 'take-overs',
  'group-resurrected': 'resurrections',
  'dead-lettered': 'dead letters',
  'group-dead': 'dead groups',
  'database-rewound': 'lost commits noticed',
  'clean-up': 'messages cleaned up',
  'claim-conflict': 'claims that waited',
  outage: 'outages',
  'group-suspended': 'suspended groups',
  'clock-off': 'wrong clocks noticed',
  'namespace-gone': 'lost namespaces noticed',
  released: 'messages released',
}

export function countPaths(entries: readonly Stamped[]): PathCounts {
  const counts: Record<string, number> = Object.fromEntries(
    [...RARE_PATHS, ...Object.values(EVENTS)].map(path => [path, 0]),
  )
  const add = (path: string, count: number): void => {
    counts[path] = (counts[path] ?? 0) + count
  }
  for (const entry of entries) {
    if (entry.what === 'event') add(EVENTS[entry.name] ?? entry.name, (entry as EventEntry).count)
    else if ('phase' in entry && entry.phase === 'unknown') add('unknown outcomes', 1)
  }
  return counts
}

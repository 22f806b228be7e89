/** What the processes of a run share: topics, groups and their settings. Small numbers, so that rare paths are common. */
import type { TopicOptions } from 'tidemark'

export type Engine = 'sqlite' | 'postgres' | 'jetstream'

export const LEASE_MS = 2_000
export const MAX_ATTEMPTS = 6
/** The groups of `mortal` die when they are silent for this long. */
export const DEATH_MS = 1_500
/** Longest interval at which consumers look for expired leases. */
export const LONGEST_SWEEP_MS = 1_250

const COMMON: TopicOptions = {
  lease: LEASE_MS,
  maxAttempts: MAX_ATTEMPTS,
  backoff: { initial: 20, max: 200 },
  partitionRows: 1_000,
}

/** The topics of a namespace, and the groups that are subscribed before the first publish. */
export const TOPICS: {
  readonly [topic: string]: { readonly options: TopicOptions; readonly groups: readonly string[] }
} = {
  /** Everything an operator leaves alone, so that the rules apply without an exception. */
  orders: {
    options: { ...COMMON, semantics: 'pub-sub', retention: '1h' },
    groups: ['email', 'metrics', 'ledger', 'mortal'],
  },
  /** Operators reset, redrive, backfill and switch its tracking. It keeps little, so that a reset to its beginning is quick. */
  audit: { options: { ...COMMON, semantics: 'pub-sub', retention: '8s' }, groups: ['billing', 'http', 'late'] },
  /** Cleaned up while the run is on. */
  jobs: { options: { ...COMMON, semantics: 'queue', retention: LEASE_MS }, groups: [''] },
}

/** Dropped and created again; in the other topics nothing of it may show. */
export const DOOMED = 'doomed'
export const DOOMED_TOPICS: typeof TOPICS = {
  brief: { options: { ...COMMON, semantics: 'pub-sub', retention: '1h' }, groups: ['mayfly'] },
}

export const topicsOf = (namespace: string): typeof TOPICS => (namespace === DOOMED ? DOOMED_TOPICS : TOPICS)

/** In journals: two namespaces may have topics of one name. */
export const fullName = (namespace: string, topic: string): string => `${namespace}/${topic}`

/** What a worker is started with. */
export type WorkerArguments = {
  readonly engine: Engine
  readonly url: string
  readonly namespace: string
  readonly journals: string
  readonly name: string
  readonly seed: number
  /** Whether it takes part in maintenance. */
  readonly maintains: boolean
}

export type Order =
  | { readonly order: 'stop' }
  /** The wall clock of the process jumps by this much from the right time. */
  | { readonly order: 'clock'; readonly ms: number }
  /** Nothing else runs in the process for so long. */
  | { readonly order: 'block'; readonly ms: number }
  /** So many of the next syncs of the process fail. */
  | { readonly order: 'fail-syncs'; readonly count: number }

export type Payload = { readonly key: string; readonly text: string }

/** Never acknowledged, so that it becomes a dead letter. */
export const isBad = (key: string): boolean => key.startsWith('bad')

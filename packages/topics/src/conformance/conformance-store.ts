import type { OpenOptions, Tidemark } from '../index.ts'
import type { ConformanceHooks } from './hooks.ts'

/** A store under test. */
export type ConformanceStore = {
  /** Title of its tests. */
  readonly name: string
  /** Creates an empty database for each test. */
  fresh(): Promise<ConformanceDatabase>
  /** What the store can't do, each with the reason. Tests that need it are skipped, and print the reason. */
  readonly lacks?: Readonly<Partial<Record<Ability, string>>>
  /** Flags of node for the processes that tests start, such as `--import` with the module that registers the engine. */
  readonly nodeFlags?: readonly string[]
}

/**
 * Abilities that some stores lack:
 *
 * - `tracking`: topics with reference tracking, and backfills
 * - `operator`: `migrate()`, `repair()`, `schemaVersions()` and `diagnose()`
 * - `concurrent transactions`: several transactions publish at once, and commit in any order
 * - `exact counts`: ids without gaps, so that the number of messages is exact at any time
 * - `dense ids`: ids begin at 1 and grow by one, apart from gaps that rolled-back transactions leave
 */
export type Ability = 'tracking' | 'operator' | 'concurrent transactions' | 'exact counts' | 'dense ids'

/** A database under test. Disposing it closes what the test has opened, and removes the database. */
export type ConformanceDatabase = AsyncDisposable &
  ConformanceHooks & {
    /** Its address, for another process or another handle. */
    readonly url: string
    /**
     * Opens it with `open()`. Most tests want the queue to exist, so it passes `autoCreate: true` unless told
     * otherwise.
     */
    open(options?: OpenOptions): Promise<Tidemark>
    /** Whether clean-up still has work that it can't do yet, because it waits for other transactions. */
    cleanUpWaits(): Promise<boolean>
    /** Whether reference bitmaps still have to be filled or cleared, because that waits for other transactions. */
    trackingWaits(what: 'to be filled' | 'to be cleared'): Promise<boolean>
    /** Waits until everything that others have begun has ended: until then a watermark may lag behind. */
    settlesDown(): Promise<boolean>
  }

export type ConformanceStores = {
  readonly stores: readonly ConformanceStore[]
  /** Stores that several instances and processes share, and that outlive them. */
  readonly shared: readonly ConformanceStore[]
  /** Shared stores in which nobody else has open transactions. */
  readonly secluded: readonly ConformanceStore[]
}

/** Options of a test or suite: skipped, with the reason, if the store lacks what it needs. */
export function needs({ lacks = {} }: ConformanceStore, ...abilities: readonly Ability[]): { readonly skip?: string } {
  const lacked = abilities.find(ability => lacks[ability] !== undefined)
  return lacked === undefined ? {} : { skip: `no ${lacked}: ${lacks[lacked]}` }
}

/** Like `needs`, for a test that runs with each kind of tracking. */
export const needsTracking = (store: ConformanceStore, tracking: 'offset' | 'reference'): { readonly skip?: string } =>
  tracking === 'offset' ? {} : needs(store, 'tracking')

export const has = (store: ConformanceStore, ability: Ability): boolean => store.lacks?.[ability] === undefined

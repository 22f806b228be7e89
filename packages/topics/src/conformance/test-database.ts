import { type Logger, type OpenOptions, open, type Tidemark } from '../index.ts'
import type { ConformanceDatabase } from './conformance-store.ts'
import type { ConformanceHooks } from './hooks.ts'
import { MissingHookError } from './it.ts'

/** Tests provoke warnings on purpose. */
export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** How a test manipulates its database. */
export type TestDatabaseParts = Partial<ConformanceHooks> & {
  /** Removes the database. Nothing is open any more. */
  remove(): Promise<void>
  /** Whether clean-up waits for other transactions; without it, it never does. */
  cleanUpWaits?(): Promise<boolean>
  /** Whether bitmaps wait for other transactions; without it, they never do. */
  trackingWaits?(what: 'to be filled' | 'to be cleared'): Promise<boolean>
  /** Waits for transactions that others have open now; without it, there are none. */
  settlesDown?(): Promise<boolean>
}

const HOOKS = [
  'expireLeases',
  'makeRetriesDue',
  'ageGroups',
  'ageMessages',
  'ageTopics',
  'ageJobs',
  'ageMessageIds',
  'orphanBackfills',
  'setStatus',
  'removeGroups',
  'forgetLeases',
  'removeMessagesBelow',
  'loseMessagesAfter',
  'moveCursors',
  'replaceIdentity',
  'contents',
  'lock',
  'breakDown',
  'begin',
] as const satisfies (keyof ConformanceHooks)[]

/**
 * A database for `conformance()`, given its address. What a test leaves open is closed with it.
 *
 * @example
 * const database = testDatabase('toy:memory', { expireLeases: async () => {}, remove: async () => {} })
 */
export function testDatabase(url: string, { remove, ...hooks }: TestDatabaseParts): ConformanceDatabase {
  const opened = new Set<Tidemark>()
  return {
    cleanUpWaits: async () => false,
    trackingWaits: async () => false,
    settlesDown: async () => true,
    ...missingHooks(),
    ...hooks,
    url,
    async open(options?: OpenOptions) {
      const tm = await open(url, { logger: SILENT, autoCreate: true, ...options })
      opened.add(tm)
      return tm
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([...opened].map(tm => tm.close()))
      await remove()
    },
  }
}

/** A test that needs a missing hook is skipped, and names it. */
function missingHooks(): ConformanceHooks {
  const missing = HOOKS.map(hook => [
    hook,
    async () => {
      throw new MissingHookError(hook)
    },
  ])
  return Object.fromEntries(missing) as ConformanceHooks
}

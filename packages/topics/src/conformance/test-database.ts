import { type OpenOptions, open, type Tidemark } from '../index.ts'
import type { ConformanceDatabase } from './conformance-store.ts'

/** Tests provoke warnings on purpose. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

/** How a test reaches into a database of its own. */
export type TestDatabaseParts = {
  /** Ends the term of every live lease, as if that time had passed; leases without a term stay. */
  expireLeases(): Promise<void>
  /** Removes the database. Nothing is open any more. */
  remove(): Promise<void>
}

/**
 * A database for `conformance()`, made of its address. What a test leaves open is closed with it.
 *
 * @example
 * const database = testDatabase('toy:memory', { expireLeases: async () => {}, remove: async () => {} })
 */
export function testDatabase(url: string, { expireLeases, remove }: TestDatabaseParts): ConformanceDatabase {
  const opened = new Set<Tidemark>()
  return {
    async open(options?: OpenOptions) {
      const tm = await open(url, { logger: SILENT, autoCreate: true, ...options })
      opened.add(tm)
      return tm
    },
    expireLeases,
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([...opened].map(tm => tm.close()))
      await remove()
    },
  }
}

/** `tidemark/conformance`: the suites that every engine has to pass. See docs/internals/writing-an-engine.md. */

import { byteBounds } from './conformance/byte-bounds.ts'
import { claims } from './conformance/claims.ts'
import type { ConformanceStore, ConformanceStores } from './conformance/conformance-store.ts'
import { consumerGroups } from './conformance/consumer-groups.ts'
import { groupLease } from './conformance/group-lease.ts'
import { groupMembers } from './conformance/group-members.ts'
import { lateGroups } from './conformance/late-groups.ts'
import { payloads } from './conformance/payloads.ts'
import { positions } from './conformance/positions.ts'
import { settling } from './conformance/settling.ts'
import { size } from './conformance/size.ts'
import { suspects } from './conformance/suspects.ts'
import { writeAndRead } from './conformance/write-and-read.ts'

export type { ConformanceDatabase, ConformanceStore } from './conformance/conformance-store.ts'
export { type TestDatabaseParts, testDatabase } from './conformance/test-database.ts'

/**
 * Register the conformance suites for a store with `node:test`: publishing and reading, settling, leases and take-over,
 * groups and their members, positions, payloads and limits. Call it in a test file and run that with `node --test`.
 *
 * @example
 * conformance({
 *   name: 'Toy',
 *   isShared: true,
 *   async fresh() {
 *     const url = await createEmptyToyDatabase()
 *     return testDatabase(url, { expireLeases: () => endToyLeases(url), remove: () => dropToyDatabase(url) })
 *   },
 * })
 */
export function conformance(store: ConformanceStore & { readonly isShared: boolean }): void {
  const stores: ConformanceStores = { stores: [store], shared: store.isShared ? [store] : [] }
  writeAndRead(stores)
  settling(stores)
  positions(stores)
  consumerGroups(stores)
  groupLease(stores)
  claims(stores)
  payloads(stores)
  suspects(stores)
  byteBounds(stores)
  size(stores)
  groupMembers(stores)
  lateGroups(stores)
}

/** What holds through `node:sqlite` and a URL holds through every other driver. `npm run test:long` runs more suites. */
import { type ConformanceSuite, conformance } from 'tidemark/conformance'
import { isLong } from '../../../../testing/long.ts'
import { DRIVER_STORES } from './stores.ts'

const ALWAYS: readonly ConformanceSuite[] = ['writeAndRead']

/** All but those that start other processes or open the database by its address, which would not use the driver. */
const LONG: readonly ConformanceSuite[] = [
  ...ALWAYS,
  'settling',
  'positions',
  'consumerGroups',
  'groupLease',
  'claims',
  'payloads',
  'suspects',
  'byteBounds',
  'size',
  'groupMembers',
  'lateGroups',
  'leases',
  'publishing',
  'pulling',
  'readers',
  'retention',
  'heartbeats',
  'adminDeadLetters',
  'adminRetries',
  'messageIdentity',
]

for (const store of DRIVER_STORES) {
  // PGlite takes seconds to start; beside the long run it has the tests in pglite.test.ts.
  if (!isLong && store.name === 'PGlite') continue
  conformance({ ...store, isShared: true }, { suites: isLong ? LONG : ALWAYS })
}

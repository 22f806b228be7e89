/** `tidemark/conformance`: the suites that every engine has to pass. See docs/writing-an-engine.md. */
import { describe } from 'node:test'
import { adminDeadLetters } from './conformance/admin-dead-letters.ts'
import { adminFindings } from './conformance/admin-findings.ts'
import { adminGroupVerbs } from './conformance/admin-group-verbs.ts'
import { adminGroups } from './conformance/admin-groups.ts'
import { adminHealth } from './conformance/admin-health.ts'
import { adminMessages } from './conformance/admin-messages.ts'
import { adminReference } from './conformance/admin-reference.ts'
import { adminRetries } from './conformance/admin-retries.ts'
import { adminTopics } from './conformance/admin-topics.ts'
import { backfill } from './conformance/backfill.ts'
import { backfillFences } from './conformance/backfill-fences.ts'
import { backfillSteps } from './conformance/backfill-steps.ts'
import { badInput } from './conformance/bad-input.ts'
import { beginning } from './conformance/beginning.ts'
import { byteBounds } from './conformance/byte-bounds.ts'
import { claims } from './conformance/claims.ts'
import { cleanUp } from './conformance/clean-up.ts'
import { clockSkew } from './conformance/clock-skew.ts'
import { completion } from './conformance/completion.ts'
import type { ConformanceStore, ConformanceStores } from './conformance/conformance-store.ts'
import { consumerGroups } from './conformance/consumer-groups.ts'
import { consumers } from './conformance/consumers.ts'
import { killedBackfill } from './conformance/crash/backfill.ts'
import { killedCleanUp } from './conformance/crash/clean-up-kill.ts'
import { killedGroup } from './conformance/crash/dead-group.ts'
import { killedInFlight } from './conformance/crash/in-flight.ts'
import { killedProcesses } from './conformance/crash/kill.ts'
import { competingMaintenance } from './conformance/crash/maintenance.ts'
import { poisonedProcesses } from './conformance/crash/poison.ts'
import { deadGroupLoss } from './conformance/dead-group-loss.ts'
import { deadGroups } from './conformance/dead-groups.ts'
import { deadLetterErrors } from './conformance/dead-letter-errors.ts'
import { fairSharing } from './conformance/fair-sharing.ts'
import { fanOutBadInput } from './conformance/fan-out-bad-input.ts'
import { figures } from './conformance/figures.ts'
import { forcedCap } from './conformance/forced-cap.ts'
import { forever } from './conformance/forever.ts'
import { forgedReceipts } from './conformance/forged-receipts.ts'
import { groupDeath } from './conformance/group-death.ts'
import { groupFences } from './conformance/group-fences.ts'
import { groupLease } from './conformance/group-lease.ts'
import { groupLifeCycle } from './conformance/group-life-cycle.ts'
import { groupMembers } from './conformance/group-members.ts'
import { handlers } from './conformance/handlers.ts'
import { heartbeats } from './conformance/heartbeats.ts'
import { incarnationVerbs } from './conformance/incarnation-verbs.ts'
import { incarnations } from './conformance/incarnations.ts'
import { lag } from './conformance/lag.ts'
import { largePages } from './conformance/large-pages.ts'
import { lateGroups } from './conformance/late-groups.ts'
import { leaseFences } from './conformance/lease-fences.ts'
import { leases } from './conformance/leases.ts'
import { lifeCycleLog } from './conformance/life-cycle-log.ts'
import { maintenance } from './conformance/maintenance.ts'
import { messageIdentity } from './conformance/message-identity.ts'
import { metrics } from './conformance/metrics.ts'
import { namespaces } from './conformance/namespaces.ts'
import { oddErrors } from './conformance/odd-errors.ts'
import { opening } from './conformance/opening.ts'
import { operating } from './conformance/operating.ts'
import { outages } from './conformance/outages.ts'
import { payloads } from './conformance/payloads.ts'
import { poison } from './conformance/poison.ts'
import { positions } from './conformance/positions.ts'
import { previews } from './conformance/previews.ts'
import { publishing } from './conformance/publishing.ts'
import { pulling } from './conformance/pulling.ts'
import { readers } from './conformance/readers.ts'
import { referenceDeadGroups } from './conformance/reference-dead-groups.ts'
import { referenceTracking } from './conformance/reference-tracking.ts'
import { retention } from './conformance/retention.ts'
import { rewound } from './conformance/rewound.ts'
import { settling } from './conformance/settling.ts'
import { size } from './conformance/size.ts'
import { stats } from './conformance/stats.ts'
import { stopping } from './conformance/stopping.ts'
import { subscriptionLife } from './conformance/subscription-life.ts'
import { subscriptionStates } from './conformance/subscription-states.ts'
import { suspects } from './conformance/suspects.ts'
import { switchingTracking } from './conformance/switching-tracking.ts'
import { unknownTopics } from './conformance/unknown-topics.ts'
import { wakeUps } from './conformance/wake-ups.ts'
import { writeAndRead } from './conformance/write-and-read.ts'
import { zeroSubscriptions } from './conformance/zero-subscriptions.ts'
import { zombies } from './conformance/zombies.ts'

export type { Ability, ConformanceDatabase, ConformanceStore } from './conformance/conformance-store.ts'
export type {
  ConformanceFault,
  ConformanceHooks,
  ConformanceLock,
  ConformanceTransaction,
} from './conformance/hooks.ts'
export { MissingHookError } from './conformance/it.ts'
export { type TestDatabaseParts, testDatabase } from './conformance/test-database.ts'

const SUITES = {
  adminDeadLetters,
  adminFindings,
  adminGroupVerbs,
  adminGroups,
  adminHealth,
  adminMessages,
  adminReference,
  adminRetries,
  adminTopics,
  backfillSteps,
  backfill,
  backfillFences,
  badInput,
  beginning,
  byteBounds,
  claims,
  cleanUp,
  clockSkew,
  completion,
  consumerGroups,
  consumers,
  deadGroupLoss,
  deadGroups,
  deadLetterErrors,
  fairSharing,
  fanOutBadInput,
  figures,
  forcedCap,
  forever,
  forgedReceipts,
  groupDeath,
  groupFences,
  groupLease,
  groupLifeCycle,
  groupMembers,
  handlers,
  heartbeats,
  incarnationVerbs,
  incarnations,
  lag,
  largePages,
  lateGroups,
  leaseFences,
  leases,
  lifeCycleLog,
  maintenance,
  messageIdentity,
  metrics,
  namespaces,
  oddErrors,
  opening,
  operating,
  outages,
  payloads,
  poison,
  positions,
  previews,
  publishing,
  pulling,
  readers,
  referenceDeadGroups,
  referenceTracking,
  retention,
  rewound,
  settling,
  size,
  stats,
  stopping,
  subscriptionLife,
  subscriptionStates,
  suspects,
  switchingTracking,
  unknownTopics,
  wakeUps,
  writeAndRead,
  zeroSubscriptions,
  zombies,
  killedBackfill,
  killedCleanUp,
  killedGroup,
  killedInFlight,
  killedProcesses,
  competingMaintenance,
  poisonedProcesses,
} as const

/** Suites that need an optional peer, with its name: an engine's author installs it for them, and nobody else needs it. */
const NEEDING_PEERS = {
  backfillModel: 'fast-check',
  cleanUpModel: 'fast-check',
  commandModel: 'fast-check',
  completionModel: 'fast-check',
  protobufPayloads: '@bufbuild/protobuf',
} as const

const loaded: Partial<Record<keyof typeof NEEDING_PEERS, (stores: ConformanceStores) => void>> = {
  ...(await import('./conformance/model/suites.ts').catch(withoutPeer)),
  ...(await import('./conformance/protobuf-payloads.ts').catch(withoutPeer)),
}

/** Name of a suite that `conformance()` runs. */
export type ConformanceSuite = keyof typeof SUITES | keyof typeof NEEDING_PEERS

/** Names of all suites. Split them over several test files, and `node --test` runs those in parallel. */
export const conformanceSuites: readonly ConformanceSuite[] = [
  ...(Object.keys(SUITES) as (keyof typeof SUITES)[]),
  ...(Object.keys(NEEDING_PEERS) as (keyof typeof NEEDING_PEERS)[]),
]

/**
 * Register the conformance suites for a store with `node:test`: publishing and reading, groups and their members, leases and
 * take-over, heartbeats, clean-up, reference tracking, admin and health, random commands against a model, and processes that
 * are killed. Call it in a test file and run that with `node --test`.
 *
 * A test that needs what the store names in `lacks` is skipped, and says the reason.
 *
 * @example
 * conformance({
 *   name: 'Toy',
 *   isShared: true,
 *   lacks: { tracking: 'not built yet' },
 *   async fresh() {
 *     const url = await createEmptyToyDatabase()
 *     return testDatabase(url, { expireLeases: () => endToyLeases(url), remove: () => dropToyDatabase(url) })
 *   },
 * })
 */
export function conformance(
  store: ConformanceStore & { readonly isShared: boolean },
  { suites = conformanceSuites }: { readonly suites?: readonly ConformanceSuite[] } = {},
): void {
  const shared = store.isShared ? [store] : []
  const stores: ConformanceStores = { stores: [store], shared, secluded: shared }
  if (!store.isShared) {
    describe(`${store.name}: several instances and processes`, { skip: 'the store is not shared' }, () => {})
  }
  for (const suite of suites) registerSuite(suite, stores)
}

function registerSuite(suite: ConformanceSuite, stores: ConformanceStores): void {
  if (isPlain(suite)) SUITES[suite](stores)
  else if (loaded[suite] === undefined) {
    describe(suite, { skip: `install ${NEEDING_PEERS[suite]} to run it` }, () => {})
  } else loaded[suite](stores)
}

const isPlain = (suite: ConformanceSuite): suite is keyof typeof SUITES => suite in SUITES

function withoutPeer(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
}

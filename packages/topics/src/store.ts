/** `tidemark/store`: what it takes to write an engine of your own. See docs/internals/writing-an-engine.md. */
export { DEFAULT_BACKFILL } from './backfill/backfill-plan.ts'
export type { Logger } from './observe/logger.ts'
export type { Percentiles, SparseHistogram } from './observe/metrics/histogram.ts'
export type { ClaimConflicts } from './observe/metrics/scope.ts'
export type { Options } from './options/options.ts'
export { type DerivedId, messageIdOf, parseMessageId } from './payload/message-id.ts'
export type { RawMessage } from './payload/raw-message.ts'
export type {
  BackfillBatch,
  BackfillPlan,
  BackfillRecord,
  BackfillScope,
  BackfillStatus,
  Backfills,
} from './stores/backfills.ts'
export type { ByteBounds } from './stores/byte-bounds.ts'
export type { Capabilities } from './stores/capabilities.ts'
export type {
  DeadLetter,
  DeadLetterQuery,
  DeadLetterSelection,
  DeadLetters,
  LetterError,
  LetterErrorQuery,
  RedrivenPage,
  Undeliverable,
} from './stores/dead-letters.ts'
export type { StoreAddress, StoreEngine, StoreSettings } from './stores/engine.ts'
export type { FailedAttempt, FailureRecord } from './stores/failure-record.ts'
export type { Finding } from './stores/finding.ts'
export { type ReportedActivity, type SummedActivity, sumActivity } from './stores/group-activity.ts'
export type {
  ConsumerActivity,
  ConsumerRecord,
  Detection,
  GroupActivity,
  Heartbeat,
  HeartbeatResult,
  Heartbeats,
} from './stores/heartbeats.ts'
export type {
  ClockReading,
  Examination,
  GroupDescription,
  HorizonHolder,
  Inspection,
  PoolUse,
  StatsRecord,
  StoredSize,
  TopicDescription,
  TopicFacts,
  TopicStatsRecord,
  TopicStorage,
  UnsubscribedTopic,
  ZombieGroup,
} from './stores/inspection.ts'
export type { JobLock, JobRecord, Jobs } from './stores/jobs.ts'
export {
  type GroupMarks,
  type LanesQuery,
  type LanesRecord,
  type LeaseMark,
  type LogBucket,
  positionsOf,
  type RetryMark,
} from './stores/lanes.ts'
export {
  type ClaimRecord,
  type ClaimRequest,
  type ClaimResult,
  type ClaimsQuery,
  type Lease,
  type LeaseHolder,
  type Leases,
  MOST_NAMED,
  type Nack,
  type ReleasedClaimRecord,
  type RetryQuery,
  type RetryRecord,
  type Settlement,
  type SettleResult,
  type Suspects,
  type TakenMessage,
  type TakeOver,
} from './stores/leases.ts'
export type {
  BrowsePage,
  BrowseQuery,
  CleanUpStep,
  Log,
  OutgoingMessage,
  PublishedMessage,
  TailPage,
} from './stores/log.ts'
export { type MessageStateRecord, MOST_LETTERS_SEEN } from './stores/message-states.ts'
export { NamespaceGuard } from './stores/namespace-guard.ts'
export type { Diagnosis, Operator, SchemaVersions } from './stores/operator.ts'
export { pieceAt, pieceCount } from './stores/pieces.ts'
export { type MinuteCounts, ratePerSecond } from './stores/rate.ts'
export { registerStore } from './stores/registry.ts'
export type { RepairReport } from './stores/repair-report.ts'
export { startOf } from './stores/start.ts'
export type { Store, StoreConcepts } from './stores/store.ts'
export {
  DEFAULT_HEARTBEAT,
  type HeartbeatSettings,
  type Resurrected,
  type StartPosition,
  type SubscriptionOfTopic,
  type SubscriptionRecord,
  type SubscriptionRef,
  type SubscriptionStatus,
} from './stores/subscription-record.ts'
export type {
  CountedRange,
  RangeEnd,
  ResetPreviewRecord,
  Resurrection,
  SubscriptionSettings,
  Subscriptions,
  Zombie,
} from './stores/subscriptions.ts'
export type { TopicRecord } from './stores/topic-record.ts'
export type { ConfigPreviewRecord, Topics } from './stores/topics.ts'
export type { CompletionQuery, MessageCompletion, ReferenceTracking } from './stores/tracking.ts'
export { mergeTopicConfig, readTopicConfig, type StoredTopicConfig, type TopicConfig } from './topic-config.ts'

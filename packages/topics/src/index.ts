/** The public names of `tidemark`, listed by hand. */

export type { Admin } from './admin/admin.ts'
export type { BackfillAdmin } from './admin/backfill-admin.ts'
export type { BackfillProgress } from './admin/backfill-progress.ts'
export type { BrowsedPage, BrowseOptions } from './admin/browse.ts'
export type { ByteOptions } from './admin/byte-options.ts'
export type { ClaimAdmin } from './admin/claim-admin.ts'
export type { Claim, ClaimedMessage, ClaimsOptions, ClaimsPage, ReleasedClaim } from './admin/claims.ts'
export type { ConsumerHealth } from './admin/consumers.ts'
export type { DeadLetterAdmin } from './admin/dead-letter-admin.ts'
export type { DeadLetterError, DeadLetterErrorOptions, DeadLetterErrors } from './admin/dead-letter-errors.ts'
export type {
  DeadLetterFilter,
  DeadLetterMessage,
  DeadLetterOptions,
  DeadLetterPage,
  DeadLetterPreview,
} from './admin/dead-letters.ts'
export type { GroupAdmin } from './admin/group-admin.ts'
export type { GroupHealth } from './admin/group-health.ts'
export type { Removed } from './admin/groups.ts'
export type { Health, HealthOptions } from './admin/health.ts'
export type { HealthAdmin, JobVerbs } from './admin/health-admin.ts'
export type { GroupLane, LaneBucket, LaneLease, LaneRetry, Lanes, LanesOptions } from './admin/lanes.ts'
export type { GroupMember } from './admin/members.ts'
export type { MessageState, MessageWithStates } from './admin/message.ts'
export type { MessageAdmin } from './admin/message-admin.ts'
export type { ConfigChange, ConfigPreview, PreviewedMessage, ResetPreview } from './admin/previews.ts'
export type { RetryOptions, RetryPage, WaitingRetry } from './admin/retries.ts'
export type { JobStats, Stats, StatsOptions, TopicStats } from './admin/stats.ts'
export type { StoredMessage, StoredPayload } from './admin/stored-message.ts'
export type { TailOptions } from './admin/tail.ts'
export type { TopicAdmin } from './admin/topic-admin.ts'
export type { DescribedTopic, TopicSummary } from './admin/topics.ts'
export type { Completion, CompletionOptions } from './admin/tracking.ts'
export type { BackfillOptions, BackfillPreset } from './backfill/backfill-plan.ts'
export type { Backoff } from './backoff.ts'
export { ConsumerGroup } from './consume/consumer-group.ts'
export type { Delivery, HandlerContext } from './consume/delivery.ts'
export type { ConsumerOptions, GroupOptions, StartOptions, StopOptions } from './consume/group-options.ts'
export type { HeartbeatOptions } from './consume/heartbeat-options.ts'
export type { Filter, Handler } from './consume/member.ts'
export type {
  Pulled,
  PulledMessage,
  PullOptions,
  PullReservation,
  RawPullOptions,
  ReceiptFacts,
} from './consume/pull/puller.ts'
export type { PullNack, PullSettlement } from './consume/pull/settlement.ts'
export { Reader, type ReaderOptions, type WaitOptions } from './consume/reader.ts'
export type { From } from './consume/start-position.ts'
export type { GroupVitals } from './consume/vitals.ts'
export { type DiagnoseOptions, diagnose } from './diagnose.ts'
export {
  BackfillError,
  BatchTooLargeError,
  ClaimNotFoundError,
  ClaimReleasedError,
  ClockError,
  ClosedError,
  CodedError,
  ConfigError,
  DatabaseError,
  type DatabaseErrorCode,
  DatabaseFullError,
  DatabaseInUseError,
  DatabaseLockedError,
  DatabaseMovedError,
  DatabaseReadOnlyError,
  DatabaseRestoredError,
  DatabaseRewoundError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
  DatabaseVersionError,
  DecodeError,
  DuplicateConsumerError,
  GroupNotFoundError,
  HeartbeatError,
  InvalidNameError,
  InvalidReceiptError,
  InvalidTransitionError,
  JobBusyError,
  LeaseExpiredError,
  MembershipError,
  MessageIdPendingError,
  MessageNotFoundError,
  NamespaceGoneError,
  NoSubscriptionsError,
  OutcomeUnknownError,
  PackageRequiredError,
  PayloadError,
  PayloadTooLargeError,
  PositionGoneError,
  SchemaError,
  StaleDeliveryError,
  StoppedError,
  SubscriptionGoneError,
  SyncError,
  TidemarkError,
  type TidemarkErrorCode,
  TooManyGroupsError,
  TopicConflictError,
  TopicNotFoundError,
  TransactionError,
  UnknownTypeError,
} from './errors.ts'
export type { JobName, JobResult } from './maintenance/job.ts'
export type { MaintenanceOptions, MaintenancePreset } from './maintenance/presets.ts'
export type { EventName, Events, LossReason, RewindSign } from './observe/instrumentation.ts'
export type { Logger } from './observe/logger.ts'
export type { ConsumerMetrics } from './observe/metrics/consumer-meter.ts'
export type { Percentiles } from './observe/metrics/histogram.ts'
export type { Metrics } from './observe/metrics/metrics.ts'
export type { ClaimConflicts, Counted, Counts, GroupMetrics, ScopeMetrics } from './observe/metrics/scope.ts'
export type { FailureCounts, FailureKind, Outage, OutageBegan, OutageEnded } from './observe/outages.ts'
export { type OpenOptions, open } from './open.ts'
export { migrate, migrationSql, type NamespaceOptions, repair, schemaVersions } from './operate.ts'
export { type Duration, parseDuration } from './options/duration.ts'
export type { ProtobufRegistry } from './payload/protobuf.ts'
export type { Received } from './payload/received.ts'
export type {
  Schema,
  SchemaInput,
  SchemaIssue,
  SchemaOutput,
  SchemaResult,
  TopicSchemas,
} from './payload/schema.ts'
export type { MessageOptions, PublishOptions, SyncPublishOptions } from './publish/outgoing.ts'
export type { PublishedRef } from './publish/published-ref.ts'
export type { BatchMessage } from './publish/publisher.ts'
export type { TransactionHandle } from './publish/transaction-handle.ts'
export { Writer } from './publish/writer.ts'
export type { Redriven } from './stores/dead-letters.ts'
export type { ClientFactory, DatabaseAddress, Driver, PgClient, PgPool } from './stores/driver.ts'
export type { FailedAttempt, FailureRecord } from './stores/failure-record.ts'
export type { Finding } from './stores/finding.ts'
export type {
  GroupDescription,
  HorizonHolder,
  PoolUse,
  StoredSize,
  TopicDescription,
  UnsubscribedTopic,
} from './stores/inspection.ts'
export type { JobRecord } from './stores/jobs.ts'
export type { MessageStateRecord } from './stores/message-states.ts'
export type { SchemaVersions } from './stores/operator.ts'
export type { RepairReport } from './stores/repair-report.ts'
export type { Resurrected, SubscriptionStatus } from './stores/subscription-record.ts'
export { Tidemark } from './tidemark.ts'
export { Topic } from './topic.ts'
export type { Semantics, TopicConfig, TopicOptions, Tracking } from './topic-config.ts'
export type { AnyTopics, PlainTopics, SchemasOf, TopicType, TopicTypes, TypedTopics } from './topic-types.ts'

/** The public names of `@tidemark/pipeline`, listed by hand. */

export {
  type Binding,
  type BindingRule,
  type BindingTable,
  index,
  queue,
  storageRead,
  storageWrite,
  topicRead,
  topicWrite,
} from './config/bindings.ts'
export { checkConfig } from './config/check-config.ts'
export { checkWiring, WiringError } from './config/check-whole.ts'
export { type Wiring, wiringProblems } from './config/check-wiring.ts'
export {
  type CheckedConfig,
  type CheckedResources,
  type CheckedService,
  type CheckedStorage,
  defineConfig,
  type PipelineConfig,
  type ResourcesConfig,
  type ServiceConfig,
} from './config/config.ts'
export { type DefaultConfigOptions, defaultConfig } from './config/default-config.ts'
export { ConfigFileError, ServiceTypeError, StrategyError } from './config/errors.ts'
export { findConfig, type LoadOptions, loadConfig, readConfig } from './config/load-config.ts'
export {
  type CheckedOptions,
  checkOptions,
  choice,
  duration,
  flag,
  type GivenOptions,
  number,
  type OptionRule,
  type OptionTable,
  rule,
  runId,
  text,
  whole,
} from './config/option-table.ts'
export { shownConfig } from './config/shown-config.ts'
export { CONFIG_TEMPLATE } from './config/template.ts'
export type { WholeConfig } from './config/whole-config.ts'
export { countCells, decodeCells, encodeCells } from './contracts/cell-codec.ts'
export type { DeadLetterMessage, TopicEnvelope } from './contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
export { type ContractLimits, DEFAULT_LIMITS } from './contracts/limits.ts'
export { decodeMetadata, encodeMetadata } from './contracts/metadata-codec.ts'
export {
  type BatchInfo,
  batchEnvelope,
  batchInfoOf,
  contractsRegistry,
  type DeadLetter,
  deadLetterMessage,
  deadLetterOf,
  type MetadataInfo,
  metadataEnvelope,
  metadataInfoOf,
} from './contracts/notifications.ts'
export { encodeOrganisms } from './contracts/organism-list.ts'
export type { Cells, EnvironmentConfig, Organism, SimulationMetadata, Tick } from './contracts/tick.ts'
export {
  decodeOrganism,
  decodeRawTick,
  decodeTick,
  type EncodedTick,
  encodeTick,
  type RawTick,
  type TickHead,
  tickHeadOf,
  toEncodedTick,
} from './contracts/tick-codec.ts'
export {
  IndexDatabaseError,
  IndexedTickError,
  IndexFullError,
  IndexGoneError,
  IndexLockedError,
  IndexNotFoundError,
  IndexOutsideError,
  IndexReadingError,
  IndexReadOnlyError,
  IndexUnavailableError,
  IndexUnreachableError,
  IndexVersionError,
  NestedTransactionError,
  TickRemovedError,
} from './databases/errors.ts'
export { FolderInUseError, FolderUnusableError } from './databases/folder-lock.ts'
export type { IndexDatabase } from './databases/index-database.ts'
export type { IndexMetrics } from './databases/index-meter.ts'
export type { BatchRow, BatchStatus, LedgerCounts, LedgerPage, TickRange } from './databases/ledger-store.ts'
export type { MetadataStore } from './databases/metadata.ts'
export { MetadataReader, type MetadataReaderOptions, MetadataTimeoutError } from './databases/metadata-reader.ts'
export {
  dropIndex,
  type IndexOptions,
  type IndexVersions,
  indexVersions,
  listIndexedRuns,
  migrateIndexes,
  openIndex,
} from './databases/open-index.ts'
export type { PackedBytes, Packing, PackingOptions } from './databases/packing.ts'
export type { SqlValue, Transaction } from './databases/transaction.ts'
export type { WrittenAs } from './databases/written-as.ts'
export type { LetterKind, PipelineLetter } from './dead-letters/letter.ts'
export {
  type LetterFilter,
  type LetterOutcome,
  type LetterPageOptions,
  type LetterSelection,
  type PipelineLetterPage,
  PipelineLetters,
  type RedrivenLetters,
} from './dead-letters/pipeline-letters.ts'
export type { RedriveTargets } from './dead-letters/redrive-letter.ts'
export { type Bytes, parseBytes, sizeText } from './disk/bytes.ts'
export type { DiskPartStatus, DiskStatus } from './disk/disk-status.ts'
export { DiskFullError } from './disk/guarded-outlet.ts'
export { EnvironmentError, StrategyMissingError } from './environment/errors.ts'
export { type LoadStrategyOptions, loadEnvironmentStrategy } from './environment/load-strategy.ts'
export { EnvironmentProperties } from './environment/properties.ts'
export { regionFilter } from './environment/spans.ts'
export { singleBlob } from './environment/strategies/single-blob.ts'
export { defineEnvironmentStrategy, type EnvironmentStrategy } from './environment/strategy.ts'
export { ContractError, InvalidRunIdError, LimitError } from './errors.ts'
export { isEnvironmentFault } from './faults.ts'
export type { GraphEdge, GraphNode, PipelineGraph } from './graph/pipeline-graph.ts'
export type { Batch, BatchClaim, BatchClaimResult } from './ledger/batch-claim.ts'
export { BatchLedger, type LedgerEvents } from './ledger/batch-ledger.ts'
export { LedgerConflictError, StaleClaimError } from './ledger/errors.ts'
export type { Gap } from './ledger/gap-detection.ts'
export type { LedgerMetrics } from './ledger/ledger-metrics.ts'
export type { LedgerOptions } from './ledger/ledger-options.ts'
export {
  type FailedBatch,
  type FailedQuery,
  failedBatches,
  failedBatchPlace,
  RunLedgers,
  retryFailed,
} from './ledger/operate-ledgers.ts'
export { defaultLogger } from './logger.ts'
export type { WindowedLatency } from './metrics/latency-window.ts'
export type { IndexerProgress, PipelineProgress, ServiceProgress } from './progress/progress.ts'
export {
  BoundedQueue,
  type DrainOptions,
  type PutOptions,
  type QueueLimits,
  type QueueMetrics,
  type QueueOptions,
  type WaitOptions,
} from './queues/bounded-queue.ts'
export {
  DEAD_LETTER_TOPIC,
  DeadLetterQueue,
  type KeptLetter,
  type LetterPage,
  type TakenLetter,
  type TakenLetters,
} from './queues/dead-letter-queue.ts'
export type { DrainableQueue } from './queues/drainable-queue.ts'
export { QueueBrokenError } from './queues/errors.ts'
export { type Movable, WorkerQueueReceiver, WorkerQueueSender } from './queues/worker-queue.ts'
export { openRunIndex, type RunIndexOptions } from './reading/open-run-index.ts'
export type {
  Cell,
  CellsDifference,
  EnvironmentReader,
  GapsPage,
  IndexedGap,
  IndexedRange,
  IndexedTicks,
  LifePage,
  LifeQuery,
  LineageFacts,
  LineagesAt,
  NearestTicks,
  OrganismFacts,
  OrganismReader,
  Region,
  RunIndex,
  RunProgress,
  RunSummary,
  SeriesFigures,
  SeriesPoint,
  SeriesQuery,
  SeriesReader,
  TickQuery,
} from './reading/run-index.ts'
export type { BindingStatus } from './resources/binding-meter.ts'
export type { BoundIndex, BoundResources, BoundTopic, Outlet } from './resources/bound-resources.ts'
export type { MonitoredReader } from './resources/monitored-reader.ts'
export type { MonitoredWriter } from './resources/monitored-writer.ts'
export type { ResourceStatus } from './resources/opened-resource.ts'
export { FileReplacedError } from './resources/sqlite-file.ts'
export { isRunId, makeRunId, parseRunId, type RunIdParts, requireRunId } from './run-id.ts'
export { Pipeline, type PipelineStatus, type RunOptions, runPipeline } from './run-pipeline.ts'
export { RunInUseError } from './runs/errors.ts'
export { findRun, type RunParts, removeRun } from './runs/remove-run.ts'
export { locationsOf, locationsOfFolder, type RunLocations } from './runs/run-locations.ts'
export {
  NoSpeedError,
  ServiceNotRunningError,
  ServiceTimeoutError,
  UnknownServiceError,
  WorkerDiedError,
  WorkerReportedError,
  WorkerSilentError,
} from './services/errors.ts'
export { NoAnswerError } from './services/health.ts'
export { BatchIndexer, type BatchIndexerEvents, type BatchIndexerOptions } from './services/indexing/batch-indexer.ts'
export { type DeadLetterSink, deadLettersTo } from './services/indexing/components/dead-letters.ts'
export {
  defineIndexer,
  type Flush,
  type IndexedRun,
  type IndexerComponent,
  type IndexerDefinition,
} from './services/indexing/definition.ts'
export { type DummyTotals, dummyIndexer, readDummyTotals } from './services/indexing/dummy-indexer.ts'
export { type EnvironmentIndexerOptions, environmentIndexer } from './services/indexing/environment-indexer.ts'
export { Indexer, type IndexerOptions } from './services/indexing/indexer.ts'
export { MetadataIndexer, type MetadataIndexerOptions } from './services/indexing/metadata-indexer.ts'
export { organismIndexer } from './services/indexing/organism-indexer.ts'
export { seriesIndexer } from './services/indexing/series-indexer.ts'
export type { BatchSource, OpenBatchSource, SourceBatch, SourceRun } from './services/indexing/sources/batch-source.ts'
export { type StorageSourceOptions, storageSource } from './services/indexing/sources/storage-source.ts'
export { type TopicSourceOptions, topicSource } from './services/indexing/sources/topic-source.ts'
export { BatchRefusedError } from './services/indexing/verify-once.ts'
export { IngestError, TickRefusedError } from './services/ingest/errors.ts'
export { IngestService, type IngestServiceOptions } from './services/ingest/ingest-service.ts'
export { readTicks } from './services/ingest/read-ticks.ts'
export type { TickGateOptions } from './services/ingest/tick-gate.ts'
export {
  type AnnouncementSettings,
  BATCH_TOPIC,
  configureNotificationTopic,
  METADATA_TOPIC,
  runOfTopic,
  topicOfRun,
} from './services/notification-topics.ts'
export type { AnnouncingOptions } from './services/persistence/announcer.ts'
export type { RetryOptions } from './services/persistence/attempts.ts'
export { MixedRunsError, NotStoredError } from './services/persistence/errors.ts'
export {
  type MetadataItem,
  type MetadataPersistenceResources,
  MetadataPersistenceService,
} from './services/persistence/metadata-persistence-service.ts'
export type { MetadataPersistenceOptions, PersistenceOptions } from './services/persistence/options.ts'
export { type PersistenceResources, PersistenceService } from './services/persistence/persistence-service.ts'
export { Reconciler, type ReconcilerOptions, type ReconcilerResources } from './services/persistence/reconciler.ts'
export { type Keep, type KeptBy, parseKeep } from './services/retention/keep.ts'
export {
  Service,
  type ServiceContext,
  type ServiceError,
  type ServiceEvent,
  type ServiceListener,
  type ServiceSpeed,
  type ServiceState,
  type ServiceStatus,
  type StepReport,
} from './services/service.ts'
export {
  type FailedStart,
  ServiceManager,
  type ServiceManagerOptions,
  type StartReport,
  type StopOptions,
} from './services/service-manager.ts'
export type { ServicePlan } from './services/service-slot.ts'
export { defineServiceType, type ServiceBuild, type ServiceCheck, type ServiceType } from './services/service-type.ts'
export type { RunChoice } from './services/simulation/choose-run.ts'
export { SimulationRunError } from './services/simulation/errors.ts'
export {
  type EncodedMetadata,
  SimulationService,
  type SimulationServiceOptions,
} from './services/simulation/simulation-service.ts'
export { defineIndexerType } from './services/types/indexer-type.ts'
export { WorkerEntryError } from './services/worker-entry.ts'
export type { SimulationOptions } from './sources/simulation/settings.ts'
export type { ConfigChoice, IngestQueues } from './start/choose-config.ts'
export type { Source } from './start/sources.ts'
export { type StartedPipeline, type StartOptions, startPipeline } from './start/start-pipeline.ts'
export type { IndexTotals } from './start/totals.ts'
export { batchOf } from './storage/batch-order.ts'
export {
  BatchRemovedError,
  BucketNotFoundError,
  ConflictError,
  CorruptFileError,
  FileNotFoundError,
  InvalidBatchError,
  InvalidKeyError,
  OutsideRootError,
  StorageAccessError,
  StorageAwayError,
  StorageError,
  StorageFullError,
  StorageUnreachableError,
  StorageUnsuitableError,
} from './storage/errors.ts'
export { BatchFile } from './storage/file-system/batch-file.ts'
export { FileSystemStorage } from './storage/file-system/file-system-storage.ts'
export type { FileSystemStorageOptions } from './storage/file-system/options.ts'
export { batchKey, type Compression, metadataKey, parseBatchKey } from './storage/keys.ts'
export type { ManagedStorage, RunSize } from './storage/managed-storage.ts'
export { openExistingStorage, openStorage, type StorageOptions, storageName } from './storage/open-storage.ts'
export type { S3Metrics } from './storage/s3/client.ts'
export type { CredentialsFunction } from './storage/s3/credentials.ts'
export { type S3StorageOptions, s3 } from './storage/s3/options.ts'
export { S3Storage } from './storage/s3/s3-storage.ts'
export type { S3Credentials } from './storage/s3/sign.ts'
export type {
  BatchQuery,
  BatchRef,
  Page,
  QuarantinedFile,
  RemovedBatches,
  RunQuery,
  Storage,
  StoredBatch,
  TickBatch,
} from './storage/storage.ts'
export type { TilePixels } from './tiles/make-tile.ts'
export { readTile } from './tiles/read-tile.ts'
export { TileMakers } from './tiles/tile-makers.ts'
export {
  planTile,
  type TileAxis,
  type TilePlan,
  type TilePlane,
  type TileReduction,
  type TileRequest,
} from './tiles/tile-plan.ts'
export type { IdempotencyTracker } from './trackers/idempotency-tracker.ts'
export { MemoryIdempotencyTracker, type MemoryTrackerOptions } from './trackers/memory-idempotency-tracker.ts'
export { MemoryRetryTracker } from './trackers/memory-retry-tracker.ts'
export type { RetryState, RetryTracker } from './trackers/retry-tracker.ts'
export { Turns } from './turns.ts'

/** The public names of `@tidemark/pipeline`, listed by hand. */

export { countCells, decodeCells, encodeCells } from './contracts/cell-codec.ts'
export { type ContractLimits, DEFAULT_LIMITS } from './contracts/limits.ts'
export { decodeMetadata, encodeMetadata } from './contracts/metadata-codec.ts'
export {
  type BatchInfo,
  batchEnvelope,
  batchInfoOf,
  contractsRegistry,
  type DeadLetter,
  deadLetterMessage,
  type MetadataInfo,
  metadataEnvelope,
  metadataInfoOf,
} from './contracts/notifications.ts'
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
export { ContractError, InvalidRunIdError, LimitError } from './errors.ts'
export {
  BoundedQueue,
  type DrainOptions,
  type QueueLimits,
  type QueueMetrics,
  type QueueOptions,
  type WaitOptions,
} from './queues/bounded-queue.ts'
export { ItemTooLargeError, QueueBrokenError } from './queues/errors.ts'
export { type Movable, WorkerQueueReceiver, WorkerQueueSender } from './queues/worker-queue.ts'
export { isRunId, makeRunId, parseRunId, type RunIdParts, requireRunId } from './run-id.ts'
export { batchOf } from './storage/batch.ts'
export {
  ConflictError,
  CorruptFileError,
  FileNotFoundError,
  InvalidBatchError,
  InvalidKeyError,
  OutsideRootError,
  StorageError,
  StorageFullError,
} from './storage/errors.ts'
export { FileSystemStorage } from './storage/file-system/file-system-storage.ts'
export type { FileSystemStorageOptions } from './storage/file-system/options.ts'
export { batchKey, type Compression, metadataKey, parseBatchKey } from './storage/keys.ts'
export type {
  BatchQuery,
  BatchRef,
  Page,
  QuarantinedFile,
  RunQuery,
  Storage,
  StoredBatch,
  TickBatch,
} from './storage/storage.ts'

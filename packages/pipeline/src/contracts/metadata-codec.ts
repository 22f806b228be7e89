import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { ContractError, LimitError } from '../errors.ts'
import { requireRunId } from '../run-id.ts'
import {
  type SimulationMetadata as Message,
  SimulationMetadataSchema,
  Topology,
} from './gen/tidemark/pipeline/v1/metadata_pb.ts'
import { fromInt64, toInt64 } from './int64.ts'
import { DEFAULT_LIMITS, MAX_METADATA_BYTES } from './limits.ts'
import type { EnvironmentConfig, SimulationMetadata } from './tick.ts'

const TYPE = 'SimulationMetadata'
const TOPOLOGIES = { torus: Topology.TORUS, bounded: Topology.BOUNDED } as const

/**
 * Encodes the metadata of a run.
 *
 * @example
 * const bytes = encodeMetadata(metadata)
 */
export function encodeMetadata(metadata: SimulationMetadata): Uint8Array {
  check(metadata)
  const message = create(SimulationMetadataSchema, {
    simulationRunId: metadata.runId,
    startTimeMs: toInt64(TYPE, 'startedAt', metadata.startedAt),
    seed: metadata.seed,
    samplingInterval: toInt64(TYPE, 'samplingInterval', metadata.samplingInterval),
    environment: {
      shape: [...metadata.environment.shape],
      topology: TOPOLOGIES[metadata.environment.topology],
    },
    settingsJson: metadata.settings,
    moleculeTypes: [...metadata.moleculeTypes],
  })
  const bytes = toBinary(SimulationMetadataSchema, message)
  requireSize(bytes)
  return bytes
}

/**
 * Decodes the metadata of a run.
 *
 * @example
 * const { runId, samplingInterval } = decodeMetadata(bytes)
 */
export function decodeMetadata(bytes: Uint8Array): SimulationMetadata {
  requireSize(bytes)
  const message = parse(bytes)
  const metadata = {
    runId: message.simulationRunId,
    startedAt: fromInt64(TYPE, 'start_time_ms', message.startTimeMs),
    seed: message.seed,
    samplingInterval: fromInt64(TYPE, 'sampling_interval', message.samplingInterval),
    environment: { shape: message.environment?.shape ?? [], topology: topologyOf(message) },
    settings: message.settingsJson,
    moleculeTypes: message.moleculeTypes,
  }
  check(metadata)
  return metadata
}

function parse(bytes: Uint8Array): Message {
  try {
    return fromBinary(SimulationMetadataSchema, bytes)
  } catch (cause) {
    throw new ContractError(TYPE, "its bytes can't be parsed", cause)
  }
}

function topologyOf({ environment }: Message): EnvironmentConfig['topology'] {
  if (environment?.topology === Topology.TORUS) return 'torus'
  if (environment?.topology === Topology.BOUNDED) return 'bounded'
  throw new ContractError(TYPE, `environment.topology is ${environment?.topology}, neither torus nor bounded`)
}

/** The same check on encoding and decoding: what was stored can be read, and what is read could be stored. */
function check({ runId, samplingInterval, environment: { shape, topology }, settings }: SimulationMetadata): void {
  requireRunId(runId)
  if (!(samplingInterval >= 1)) throw new ContractError(TYPE, `samplingInterval is ${samplingInterval}, not 1 or more`)
  if (!(topology in TOPOLOGIES)) throw new ContractError(TYPE, `environment.topology is ${topology}`)
  if (shape.length < 1 || shape.length > DEFAULT_LIMITS.maxDimensions) {
    throw new ContractError(TYPE, `environment.shape has ${shape.length} dimensions`)
  }
  // A flat index is an int32.
  const cells = shape.reduce((product, size) => product * size, 1)
  if (!shape.every(size => Number.isInteger(size) && size >= 1) || cells > 2 ** 31) {
    throw new ContractError(TYPE, `environment.shape is ${shape.join(' × ')}; it must have 1 to 2^31 cells in all`)
  }
  requireJson(settings)
}

function requireJson(settings: string): void {
  try {
    JSON.parse(settings)
  } catch (cause) {
    throw new ContractError(TYPE, 'settings is not JSON', cause)
  }
}

function requireSize({ length }: Uint8Array): void {
  if (length > MAX_METADATA_BYTES)
    throw new LimitError('Bytes of metadata', 'MAX_METADATA_BYTES', length, MAX_METADATA_BYTES)
}

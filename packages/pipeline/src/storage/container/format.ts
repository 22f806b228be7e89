/**
 * The format of a stored file.
 *
 *   plain:       header · messages · footer                 each preceded by its length
 *   compressed:  zstd(header · messages · footer) · seal
 *
 * The footer has a checksum of everything before it and of its own count. That does not cover the compressed bytes: some of
 * them can change without changing the content. So the compressed bytes have a checksum too, in a seal of 16 bytes, which
 * is a skippable frame: `zstd -d` ignores it. Either way the last bytes of a file tell whether it is complete, before it is
 * decoded.
 */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type FileHeader, FileHeaderSchema, FileKind } from '../../contracts/gen/tidemark/pipeline/v1/storage_pb.ts'
import { fromInt64, toInt64 } from '../../contracts/int64.ts'

type ContainerKind = 'batch' | 'metadata'

export type ContainerHeader = {
  readonly kind: ContainerKind
  readonly runId: string
  /** 0 for metadata, as is `tickEnd`. */
  readonly tickStart: number
  readonly tickEnd: number
  readonly messageCount: number
}

export const MAX_HEADER_BYTES = 1_024

const FORMAT_VERSION = 1
/** 'TDMK' as a little-endian number. */
export const MAGIC = 0x4b4d4454
const ZSTD_MAGIC = 0xfd2fb528

/** With its length, like the footer. */
export function encodeHeader({ kind, runId, tickStart, tickEnd, messageCount }: ContainerHeader): Buffer {
  return delimited(
    toBinary(
      FileHeaderSchema,
      create(FileHeaderSchema, {
        magic: MAGIC,
        formatVersion: FORMAT_VERSION,
        kind: kind === 'batch' ? FileKind.BATCH : FileKind.METADATA,
        simulationRunId: runId,
        tickStart: toInt64('FileHeader', 'tickStart', tickStart),
        tickEnd: toInt64('FileHeader', 'tickEnd', tickEnd),
        messageCount,
      }),
    ),
  )
}

/** The header, or what is wrong with it. */
export function decodeHeader(bytes: Uint8Array): ContainerHeader | string {
  const header = tryDecode<FileHeader>(() => fromBinary(FileHeaderSchema, bytes))
  if (header === undefined || header.magic !== MAGIC) return 'has no header of this storage'
  if (header.formatVersion > FORMAT_VERSION) {
    return `has format version ${header.formatVersion}, and this program knows ${FORMAT_VERSION}: upgrade it`
  }
  if (header.kind !== FileKind.BATCH && header.kind !== FileKind.METADATA) return `is of unknown kind ${header.kind}`
  return {
    kind: header.kind === FileKind.BATCH ? 'batch' : 'metadata',
    runId: header.simulationRunId,
    tickStart: fromInt64('FileHeader', 'tick_start', header.tickStart),
    tickEnd: fromInt64('FileHeader', 'tick_end', header.tickEnd),
    messageCount: header.messageCount,
  }
}

/** By its first bytes, whatever its name. */
export function recognise(start: Buffer): 'none' | 'zstd' | undefined {
  if (start.length < 6) return undefined
  if (start.readUInt32LE(0) === ZSTD_MAGIC) return 'zstd'
  // The header's length, then the tag of its first field, then that field: the magic number.
  return start.readUInt32LE(2) === MAGIC ? 'none' : undefined
}

/** Header and footer are far below 128 bytes, so their length is one byte. */
export function delimited(message: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(message.length), message])
}

export function tryDecode<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch {
    return undefined
  }
}

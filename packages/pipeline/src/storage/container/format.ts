/**
 * What a stored file looks like.
 *
 *   plain:       header · messages · footer                 each with its length before it
 *   compressed:  zstd(header · messages · footer) · seal
 *
 * The footer has a checksum of everything before it and of its own count. That does not cover the bytes zstd made: some can change without
 * changing what comes out. So the compressed bytes have a checksum too, in a seal of 16 bytes, which is a skippable
 * frame: `zstd -d` passes over it. Either way the last bytes of a file tell whether it is whole, before it is decoded.
 */
import { crc32 } from 'node:zlib'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  type FileFooter,
  FileFooterSchema,
  type FileHeader,
  FileHeaderSchema,
  FileKind,
} from '../../contracts/gen/tidemark/pipeline/v1/storage_pb.ts'
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
export const FOOTER_BYTES = 11
export const SEAL_BYTES = 16

const FORMAT_VERSION = 1
/** 'TDMK' as a little-endian number. */
const MAGIC = 0x4b4d4454
const ZSTD_MAGIC = 0xfd2fb528
/** The fifth of zstd's sixteen numbers for frames that decoders skip. */
const SKIPPABLE_MAGIC = 0x184d2a54

/** With its length, as the footer. */
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

/** `contentChecksum`: of every byte before the footer. */
export function encodeFooter(messageCount: number, contentChecksum: number): Buffer {
  return writeFooter({ messageCount, checksum: footerChecksum(messageCount, contentChecksum) })
}

export type Footer = { readonly messageCount: number; readonly checksum: number }

/** Undefined unless these bytes are exactly how a footer is written. */
export function decodeFooter(bytes: Uint8Array): Footer | undefined {
  const footer = tryDecode<FileFooter>(() => fromBinary(FileFooterSchema, bytes.subarray(1)))
  if (footer?.messageCount === undefined || footer.checksum === undefined) return undefined
  const { messageCount, checksum } = footer
  return writeFooter({ messageCount, checksum }).equals(bytes) ? { messageCount, checksum } : undefined
}

export function isProvenBy({ messageCount, checksum }: Footer, contentChecksum: number): boolean {
  return checksum === footerChecksum(messageCount, contentChecksum)
}

/** The count is covered too: a file whose count alone was altered must not pass for whole. */
function footerChecksum(messageCount: number, contentChecksum: number): number {
  const count = Buffer.alloc(4)
  count.writeUInt32LE(messageCount)
  return checksumOf(count, contentChecksum)
}

function writeFooter(footer: Footer): Buffer {
  return delimited(toBinary(FileFooterSchema, create(FileFooterSchema, footer)))
}

export function encodeSeal(checksum: number): Buffer {
  const seal = Buffer.alloc(SEAL_BYTES)
  seal.writeUInt32LE(SKIPPABLE_MAGIC, 0)
  seal.writeUInt32LE(SEAL_BYTES - 8, 4)
  seal.writeUInt32LE(MAGIC, 8)
  seal.writeUInt32LE(checksum, 12)
  return seal
}

/** The checksum of the compressed bytes; undefined where there is no seal. */
export function decodeSeal(bytes: Buffer): number | undefined {
  if (bytes.length !== SEAL_BYTES) return undefined
  const checksum = bytes.readUInt32LE(12)
  return encodeSeal(checksum).equals(bytes) ? checksum : undefined
}

/** By its first bytes, whatever it is called. */
export function recognise(start: Buffer): 'none' | 'zstd' | undefined {
  if (start.length < 6) return undefined
  if (start.readUInt32LE(0) === ZSTD_MAGIC) return 'zstd'
  // The header's length, then the tag of its first field, then that field: the magic number.
  return start.readUInt32LE(2) === MAGIC ? 'none' : undefined
}

export const checksumOf = (bytes: Uint8Array, before = 0): number => crc32(bytes, before)

/** Both are far below 128 bytes, so their length is one byte. */
function delimited(message: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(message.length), message])
}

function tryDecode<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch {
    return undefined
  }
}

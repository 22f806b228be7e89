/**
 * The checksums of a stored file: of its content in the footer, of its compressed bytes in the seal. `format.ts`
 * describes the file.
 */
import { crc32 } from 'node:zlib'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type FileFooter, FileFooterSchema } from '../../contracts/gen/tidemark/pipeline/v1/storage_pb.ts'
import { delimited, MAGIC, tryDecode } from './format.ts'

export const FOOTER_BYTES = 11
export const SEAL_BYTES = 16

/** The fifth of zstd's sixteen magic numbers for frames that decoders skip. */
const SKIPPABLE_MAGIC = 0x184d2a54

/** `before`: checksum of the bytes before these. */
export const checksumOf = (bytes: Uint8Array, before = 0): number => crc32(bytes, before)

/** `contentChecksum`: of every byte before the footer. */
export function encodeFooter(messageCount: number, contentChecksum: number): Buffer {
  return writeFooter({ messageCount, checksum: footerChecksum(messageCount, contentChecksum) })
}

export type Footer = { readonly messageCount: number; readonly checksum: number }

/** Undefined unless these bytes are exactly the encoding of a footer. */
export function decodeFooter(bytes: Uint8Array): Footer | undefined {
  const footer = tryDecode<FileFooter>(() => fromBinary(FileFooterSchema, bytes.subarray(1)))
  if (footer?.messageCount === undefined || footer.checksum === undefined) return undefined
  const { messageCount, checksum } = footer
  return writeFooter({ messageCount, checksum }).equals(bytes) ? { messageCount, checksum } : undefined
}

export function isProvenBy({ messageCount, checksum }: Footer, contentChecksum: number): boolean {
  return checksum === footerChecksum(messageCount, contentChecksum)
}

/** The count is covered too: a file whose count alone was altered must not pass as complete. */
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

/** The checksum of the compressed bytes; undefined if there is no seal. */
export function decodeSeal(bytes: Buffer): number | undefined {
  if (bytes.length !== SEAL_BYTES) return undefined
  const checksum = bytes.readUInt32LE(12)
  return encodeSeal(checksum).equals(bytes) ? checksum : undefined
}

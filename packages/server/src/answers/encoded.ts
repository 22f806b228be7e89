import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'
import type { FastifyReply } from 'fastify'
import { takesEncoding } from '../accepts.ts'

/** Smaller answers are not worth compressing. */
const FROM_BYTES = 1_024
const LEVELS = { zstd: 3, br: 4, gzip: 4 } as const

/**
 * The first encoding that the client accepts. Scripts can't decompress any of them, and on plain HTTP Chromium accepts
 * gzip only.
 */
const ENCODINGS = ['zstd', 'br', 'gzip'] as const
export type Encoding = (typeof ENCODINGS)[number]

export const chooseEncoding = (acceptEncoding: string | undefined): Encoding | undefined =>
  ENCODINGS.find(encoding => takesEncoding(acceptEncoding, encoding))

const PACK: { readonly [encoding in Encoding]: (bytes: Uint8Array) => Promise<Buffer> } = {
  zstd: bytes => promisify(zstdCompress)(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVELS.zstd } }),
  br: bytes => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: LEVELS.br } }),
  gzip: bytes => promisify(gzip)(bytes, { level: LEVELS.gzip }),
}

/** Compresses for a client that accepts it, on another thread. */
export async function sendBytes(
  reply: FastifyReply,
  bytes: Uint8Array,
  acceptEncoding: string | undefined,
): Promise<FastifyReply> {
  const encoding = bytes.length < FROM_BYTES ? undefined : chooseEncoding(acceptEncoding)
  if (encoding === undefined) return reply.send(asBuffer(bytes))
  return reply.header('content-encoding', encoding).send(await PACK[encoding](bytes))
}

/** A view of something other than bytes would be sent as if it were bytes. */
export const asBuffer = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)

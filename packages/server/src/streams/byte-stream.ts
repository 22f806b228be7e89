import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Transform } from 'node:stream'
import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib'
import type { Encoding } from '../answers/encoded.ts'

/** Fast rather than small: consecutive frames are mostly the same. */
const PACKERS: { readonly [encoding in Encoding]: () => Transform & { flush(): void } } = {
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  br: () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 2 } }),
  gzip: () => createGzip({ level: 1, flush: constants.Z_SYNC_FLUSH }),
}

/** Bytes for a possibly slow reader: no more are produced before it has received most of them. */
export class ByteStream {
  readonly #raw: ServerResponse
  readonly #out: ServerResponse | Transform
  readonly #flush: () => void
  readonly #gone: AbortSignal

  constructor(raw: ServerResponse, encoding: Encoding | undefined, gone: AbortSignal) {
    const packer = encoding === undefined ? undefined : PACKERS[encoding]()
    packer?.pipe(raw)
    packer?.on('error', () => raw.destroy())
    raw.on('error', () => packer?.destroy())
    this.#raw = raw
    this.#out = packer ?? raw
    this.#flush = () => packer?.flush()
    this.#gone = gone
  }

  /** Resolves when there is room for more, or the reader has disconnected. Written bytes are sent at once. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#gone.aborted) return
    const hasRoom = this.#out.write(bytes)
    this.#flush()
    if (!hasRoom) await once(this.#out, 'drain', { signal: this.#gone }).catch(() => undefined)
  }

  end(): void {
    if (this.#gone.aborted) this.#raw.destroy()
    else this.#out.end()
  }
}

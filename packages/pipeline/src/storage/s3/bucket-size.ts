import type { S3Client } from './client.ts'
import { listObjects } from './objects.ts'

/** Listing everything takes a request per thousand objects, so it is done rarely, and longer listings more rarely. */
const LEAST_REST_MS = 60_000
const REST_PER_LISTING = 50

/**
 * Size of everything under the prefix. In between two listings, what this process stores and removes is added; what
 * others do shows at the next one.
 */
export class BucketSize {
  readonly #client: S3Client
  #bytes = 0
  #files = 0
  #listing: Promise<void> | undefined
  #isKnown = false
  #nextAt = 0

  constructor(client: S3Client) {
    this.#client = client
  }

  /** The first call waits for a listing; later ones get the last known size while it is listed again. */
  async measure(): Promise<{ bytes: number; files: number }> {
    if (performance.now() >= this.#nextAt && this.#listing === undefined) {
      this.#listing = this.#list().finally(() => {
        this.#listing = undefined
      })
      this.#listing.catch(() => undefined)
    }
    if (!this.#isKnown) await this.#listing
    return { bytes: this.#bytes, files: this.#files }
  }

  add(files: number, bytes: number): void {
    this.#files += files
    this.#bytes += bytes
  }

  async #list(): Promise<void> {
    const began = performance.now()
    const before = { bytes: this.#bytes, files: this.#files }
    const sum = { bytes: 0, files: 0 }
    try {
      for await (const { bytes } of listObjects(this.#client, '')) {
        sum.bytes += bytes
        sum.files++
      }
      // What was stored meanwhile may be listed or not: rather counted twice until the next listing than not at all.
      this.#bytes = sum.bytes + Math.max(0, this.#bytes - before.bytes)
      this.#files = sum.files + Math.max(0, this.#files - before.files)
      this.#isKnown = true
    } finally {
      const took = performance.now() - began
      this.#nextAt = performance.now() + Math.max(LEAST_REST_MS, REST_PER_LISTING * took)
    }
  }
}

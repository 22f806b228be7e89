import { isSameRow, type RawMessage, rawMessageBytes } from '../payload/raw-message.ts'

const CHUNK = 1_024

type Chunk = { readonly rows: (RawMessage | undefined)[]; bytes: number }

/**
 * Caches rows of one topic that the groups of this process read one after another: rows are immutable, so what the
 * first group fetched serves the others. Bounded in bytes. Rows are kept in chunks of neighbouring ids, and the oldest
 * chunk is evicted first: that suits groups that follow the log, and costs nothing per row.
 *
 * An id alone doesn't identify a row: a database that lost its newest commits, or was restored, reuses ids. Each engine
 * clears or bypasses the cache unless it knows that the database still has what was read.
 */
export class RowCache {
  readonly #maxBytes: number
  readonly #chunks = new Map<number, Chunk>()
  #bytes = 0
  #newest: RawMessage | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** The row with the highest id added since the last clear. */
  get newest(): RawMessage | undefined {
    return this.#newest
  }

  get(id: number): RawMessage | undefined {
    return this.#chunks.get(Math.floor(id / CHUNK))?.rows[id % CHUNK]
  }

  /** The rows from `first` to `last`, or undefined if one is missing. */
  range(first: number, last: number): RawMessage[] | undefined {
    const rows: RawMessage[] = []
    // The last row first: a group at the head of the log misses at once.
    if (this.get(last) === undefined) return undefined
    for (let id = first; id <= last; ) {
      const chunk = this.#chunks.get(Math.floor(id / CHUNK))
      if (chunk === undefined) return undefined
      for (let index = id % CHUNK; index < CHUNK && id <= last; index++, id++) {
        const row = chunk.rows[index]
        if (row === undefined) return undefined
        rows.push(row)
      }
    }
    return rows
  }

  /** Returns the row that is kept: a fetched row replaces the cached one, unless they are identical. */
  put(row: RawMessage): RawMessage {
    const number = Math.floor(row.id / CHUNK)
    let chunk = this.#chunks.get(number)
    if (chunk === undefined) {
      chunk = { rows: new Array<RawMessage | undefined>(CHUNK).fill(undefined), bytes: 0 }
      this.#chunks.set(number, chunk)
    }
    const index = row.id % CHUNK
    const kept = chunk.rows[index]
    if (kept !== undefined && isSameRow(kept, row)) return kept
    chunk.rows[index] = row
    if (row.id >= (this.#newest?.id ?? 0)) this.#newest = row
    const bytes = rawMessageBytes(row) - (kept === undefined ? 0 : rawMessageBytes(kept))
    chunk.bytes += bytes
    this.#bytes += bytes
    if (this.#bytes > this.#maxBytes) this.#evict()
    return row
  }

  /** Drops rows with lower ids; some of the chunk that has this id are kept. */
  dropBelow(id: number): void {
    const first = Math.floor(id / CHUNK)
    for (const [number, chunk] of this.#chunks) {
      if (number >= first) continue
      this.#chunks.delete(number)
      this.#bytes -= chunk.bytes
    }
  }

  clear(): void {
    this.#chunks.clear()
    this.#bytes = 0
    this.#newest = undefined
  }

  #evict(): void {
    for (const [number, chunk] of this.#chunks) {
      this.#chunks.delete(number)
      this.#bytes -= chunk.bytes
      if (this.#bytes <= this.#maxBytes) return
    }
  }
}

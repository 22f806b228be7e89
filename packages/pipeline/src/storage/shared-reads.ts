import type { EncodedTick } from '../contracts/tick-codec.ts'

type Read = () => AsyncGenerator<EncodedTick, void, undefined>

/**
 * Readers of the same batch at about the same time, such as the indexers of a process, read the file once and share the
 * bytes. What is kept for later and slower readers is limited in bytes; a reader that is too late, or whose batch is
 * too large, reads the file.
 */
export class SharedReads {
  readonly #maxBytes: number
  /** Oldest first. */
  readonly #batches = new Map<string, SharedBatch>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  async *read(key: string, read: Read): AsyncGenerator<EncodedTick, void, undefined> {
    const batch = this.#batch(key, read)
    let count = 0
    batch.enter()
    try {
      for (let tick = await batch.at(0); tick !== undefined; tick = await batch.at(count)) {
        this.#makeRoom(batch)
        count++
        yield tick
      }
    } finally {
      batch.leave()
    }
    if (count === batch.total) return
    // Dropped while this reader was using it: the rest is read from the file, after what it already has.
    for await (const tick of read()) if (count-- <= 0) yield tick
  }

  #batch(key: string, read: Read): SharedBatch {
    const known = this.#batches.get(key)
    if (known !== undefined && !known.isDropped) return known
    const batch = new SharedBatch(read)
    this.#batches.set(key, batch)
    return batch
  }

  /** The oldest are dropped first; the current one only if it is too large on its own. */
  #makeRoom(current: SharedBatch): void {
    let bytes = 0
    for (const batch of this.#batches.values()) bytes += batch.bytes
    for (const [key, batch] of this.#batches) {
      if (bytes <= this.#maxBytes) return
      if (batch === current && bytes > batch.bytes) continue
      bytes -= batch.bytes
      batch.drop()
      this.#batches.delete(key)
    }
  }
}

/** The ticks of one batch, as far as they have been read. */
class SharedBatch {
  /** The total number, once all have been read. */
  total: number | undefined
  isDropped = false
  bytes = 0
  readonly #ticks: EncodedTick[] = []
  readonly #source: AsyncGenerator<EncodedTick, void, undefined>
  #readers = 0
  #pulling: Promise<void> | undefined

  constructor(read: Read) {
    this.#source = read()
  }

  enter(): void {
    this.#readers++
  }

  /** When its last reader leaves, a file that was not read to its end is closed. */
  leave(): void {
    this.#readers--
    if (this.#readers === 0 && this.total === undefined) this.drop()
  }

  /**
   * undefined: there are no more, or it was dropped. The reader that is furthest ahead reads on; the others wait for
   * it.
   */
  async at(index: number): Promise<EncodedTick | undefined> {
    while (index >= this.#ticks.length && this.total === undefined && !this.isDropped) {
      this.#pulling ??= this.#pull().finally(() => {
        this.#pulling = undefined
      })
      await this.#pulling
    }
    return this.#ticks[index]
  }

  drop(): void {
    this.isDropped = true
    this.#ticks.length = 0
    this.bytes = 0
    // Its file is closed as soon as the current read has ended; nobody needs an error there any more.
    this.#source.return().catch(() => undefined)
  }

  async #pull(): Promise<void> {
    try {
      const next = await this.#source.next()
      if (this.isDropped) return
      if (next.done) this.total = this.#ticks.length
      else {
        this.#ticks.push(next.value)
        this.bytes += next.value.bytes.length
      }
    } catch (error) {
      // Everybody who waits for it gets the error; later readers try the file again.
      this.drop()
      throw error
    }
  }
}

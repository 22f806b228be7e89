import type { EncodedTick } from '../contracts/tick-codec.ts'

type Read = () => AsyncGenerator<EncodedTick, void, undefined>

/**
 * Several who read the same batch at about the same time, as the indexers of a process do, read it from the file once and
 * have the same bytes. What is kept for those who come later, and for those who are slower, is bounded in bytes; who
 * is too late, or whose batch is too large, reads the file.
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
    // Dropped while this one was at it: the rest is read from the file, past what it has had.
    for await (const tick of read()) if (count-- <= 0) yield tick
  }

  #batch(key: string, read: Read): SharedBatch {
    const known = this.#batches.get(key)
    if (known !== undefined && !known.isDropped) return known
    const batch = new SharedBatch(read)
    this.#batches.set(key, batch)
    return batch
  }

  /** The oldest go first; the one that is being read only where it is too large by itself. */
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

/** The ticks of one batch as far as anybody has read them. */
class SharedBatch {
  /** How many there are, once all have been read. */
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

  /** With the last who reads it, a file that was not read to its end is closed. */
  leave(): void {
    this.#readers--
    if (this.#readers === 0 && this.total === undefined) this.drop()
  }

  /** undefined: there are no more, or it was dropped. Whoever is furthest reads on; the others wait for it. */
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
    // Its file is closed as soon as what runs has ended; a failure there is no longer anybody's.
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
      // All who wait for it get the error; who comes later tries the file again.
      this.drop()
      throw error
    }
  }
}

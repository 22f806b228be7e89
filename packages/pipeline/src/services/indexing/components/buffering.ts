import type { RawTick } from '../../../contracts/tick-codec.ts'
import type { SourceBatch } from '../sources/batch-source.ts'

export type BufferLimits = {
  /** Ticks per flush; 1: no buffering. */
  readonly maxTicks: number
  readonly maxBytes: number
  readonly timeoutMs: number
}

/** A batch whose ticks are being indexed. */
export type HeldBatch = {
  readonly batch: SourceBatch
  /** All its ticks have been read, and are in the index or in the buffer. */
  isRead: boolean
  /** It failed: the rest of it is not read. */
  isDropped: boolean
}

type Slot = { readonly held: HeldBatch; readonly tick: RawTick; readonly bytes: number }

/** The ticks of one flush. */
export class Taken {
  readonly #slots: readonly Slot[]
  readonly ticks: readonly RawTick[]
  /** The batches of these ticks, which fail if the ticks can't be flushed. */
  readonly batches: readonly HeldBatch[]
  /** Batches that are completely indexed once these ticks are. */
  readonly completed: readonly HeldBatch[]

  constructor(slots: readonly Slot[]) {
    this.#slots = slots
    this.ticks = slots.map(({ tick }) => tick)
    this.batches = [...new Set(slots.map(({ held }) => held))]
    this.completed = this.batches.filter(({ isRead }) => isRead)
  }

  without(lost: HeldBatch): Taken {
    return new Taken(this.#slots.filter(({ held }) => held !== lost))
  }
}

/** Ticks of several batches, in order of arrival, that are flushed together. */
export class TickBuffer {
  readonly #limits: BufferLimits
  #slots: Slot[] = []
  readonly #numbers = new Set<number>()
  #bytes = 0
  #oldestAt = 0

  constructor(limits: BufferLimits) {
    this.#limits = limits
  }

  get ticks(): number {
    return this.#slots.length
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Batches with buffered ticks, which are therefore not acknowledged yet. */
  get batches(): number {
    return new Set(this.#slots.map(({ held }) => held)).size
  }

  get isFull(): boolean {
    return this.#slots.length >= this.#limits.maxTicks || this.#bytes >= this.#limits.maxBytes
  }

  /** Its oldest tick has waited long enough. */
  get isDue(): boolean {
    return this.#slots.length > 0 && this.msUntilDue() === 0
  }

  msUntilDue(): number {
    const { timeoutMs } = this.#limits
    return this.#slots.length === 0 ? timeoutMs : Math.max(0, this.#oldestAt + timeoutMs - performance.now())
  }

  /** A batch that arrived twice: in one flush its ticks would be upserted twice, which PostgreSQL refuses. */
  has(tick: number): boolean {
    return this.#numbers.has(tick)
  }

  add(held: HeldBatch, tick: RawTick, bytes: number): void {
    if (this.#slots.length === 0) this.#oldestAt = performance.now()
    this.#slots.push({ held, tick, bytes })
    this.#numbers.add(tick.tick)
    this.#bytes += bytes
  }

  /** All of it. */
  take(): Taken {
    const taken = new Taken(this.#slots)
    this.#replace([])
    return taken
  }

  /** Removes the ticks of a failed batch. */
  drop(held: HeldBatch): void {
    held.isDropped = true
    this.#replace(this.#slots.filter(slot => slot.held !== held))
  }

  #replace(slots: Slot[]): void {
    this.#slots = slots
    this.#numbers.clear()
    this.#bytes = 0
    for (const { tick, bytes } of slots) {
      this.#numbers.add(tick.tick)
      this.#bytes += bytes
    }
  }
}

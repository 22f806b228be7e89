import { ClosedError, ConfigError } from 'tidemark'
import type { Allowance } from '../disk/allowance.ts'

/** Limits of a queue. */
export type QueueLimits = {
  /** Maximum number of items. */
  readonly maxItems: number
  /** Maximum bytes of all items. A single item may be larger: it waits until the queue is empty. */
  readonly maxBytes: number
}

/** Options of a queue. */
export type QueueOptions<T> = QueueLimits & {
  /** Size of an item in bytes. */
  readonly sizeOf: (item: T) => number
  /** Called when items have left the queue. */
  readonly onTaken?: (items: number, bytes: number) => void
}

/** Options of a call that may wait. */
export type WaitOptions = {
  /** Aborts the wait. */
  readonly signal?: AbortSignal
}

/** Options of a put. */
export type PutOptions = WaitOptions & {
  /** Once this aborts, the allowance no longer holds the item back: it has left its source, which is being stopped. */
  readonly letIn?: AbortSignal
}

/** Options of a drain. */
export type DrainOptions = WaitOptions & {
  /** Milliseconds to wait for the full number of items; 0 takes what is there. */
  readonly timeout: number
  /** Maximum bytes of one drain; a single item may be larger. */
  readonly maxBytes?: number
}

/** Figures of a queue. */
export type QueueMetrics = QueueLimits & {
  /** Items in the queue. */
  readonly items: number
  /** Bytes in the queue. */
  readonly bytes: number
  /** Highest number of items so far. */
  readonly peakItems: number
  /** Highest number of bytes so far. */
  readonly peakBytes: number
  /** Items put so far. */
  readonly totalPut: number
  /** Items taken so far. */
  readonly totalTaken: number
  /** Calls of `put` that wait for space. */
  readonly waitingPuts: number
}

type WaitingPut<T> = {
  readonly item: T
  readonly bytes: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  readonly letIn: AbortSignal | undefined
}

/**
 * A FIFO queue bounded in number and in bytes, because a tick can be a kilobyte or megabytes. A put waits for room.
 *
 *   put ──▶ waiting puts ──▶ items ──▶ drain (one at a time, so that each takes a contiguous part)
 */
export class BoundedQueue<T> {
  readonly #options: QueueOptions<T>
  #items: { readonly item: T; readonly bytes: number }[] = []
  /** Items before this index have been taken; they are removed now and then, which is cheaper than shifting each. */
  #head = 0
  #bytes = 0
  readonly #waitingPuts = new Set<WaitingPut<T>>()
  /** Drains in the order of their calls; the first is active. */
  readonly #drains = new Set<{ wake: () => void }>()
  #closed: { readonly error: Error | undefined } | undefined
  #allowance: Allowance | undefined
  #peakItems = 0
  #peakBytes = 0
  #totalPut = 0
  #totalTaken = 0

  constructor(options: QueueOptions<T>) {
    for (const name of ['maxItems', 'maxBytes'] as const) {
      if (!Number.isSafeInteger(options[name]) || options[name] < 1) {
        throw new ConfigError(`queue.${name}`, options[name], 'a whole number from 1')
      }
    }
    this.#options = options
  }

  /** Resolves when the item is in the queue. Aborting the signal withdraws it, unless it is already in the queue. */
  async put(item: T, { signal, letIn }: PutOptions = {}): Promise<void> {
    signal?.throwIfAborted()
    if (this.tryPut(item, letIn)) return
    const bytes = this.#options.sizeOf(item)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { item, bytes, resolve, reject, letIn }
    const abort = (): void => {
      this.#waitingPuts.delete(waiting)
      reject(signal?.reason)
      // It may have been first in line, and the next one smaller.
      this.#admit()
    }
    const admit = (): void => this.#admit()
    this.#waitingPuts.add(waiting)
    signal?.addEventListener('abort', abort, { once: true })
    letIn?.addEventListener('abort', admit, { once: true })
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', abort)
      letIn?.removeEventListener('abort', admit)
    }
  }

  /**
   * Charges new items to an allowance and makes them wait while it is used up. Items in the queue are not affected.
   *
   * @internal
   */
  limitBy(allowance: Allowance): void {
    this.#allowance = allowance
    allowance.onRaised(() => this.#admit())
  }

  /** Size of the next item if only the allowance holds it back, otherwise 0. */
  get heldBytes(): number {
    const next = this.#first(this.#waitingPuts)
    return next !== undefined && this.#hasRoom(next.bytes) && !this.#isAllowed(next.bytes, next.letIn) ? next.bytes : 0
  }

  /** Puts the item if there is space. Returns false otherwise. */
  tryPut(item: T, letIn?: AbortSignal): boolean {
    if (this.#closed) throw this.#closed.error ?? new ClosedError('The queue')
    const bytes = this.#options.sizeOf(item)
    if (this.#waitingPuts.size > 0 || !this.#hasRoom(bytes) || !this.#isAllowed(bytes, letIn)) return false
    this.#push(item, bytes)
    this.#wake()
    return true
  }

  /**
   * Takes up to `max` items: as soon as there are that many (or `maxBytes`), otherwise what has arrived at the
   * timeout, the abort or the end of the queue. An abort loses nothing. After `fail` it rejects once the queue is
   * empty.
   */
  async drain(max: number, { timeout, maxBytes = Number.POSITIVE_INFINITY, signal }: DrainOptions): Promise<T[]> {
    if (!Number.isSafeInteger(max) || max < 1) throw new ConfigError('drain.max', max, 'a whole number from 1')
    if (!(timeout >= 0 && timeout <= 2 ** 31 - 1))
      throw new ConfigError('drain.timeout', timeout, 'milliseconds, 0 to 2^31 - 1')
    const turn = { wake: () => {} }
    this.#drains.add(turn)
    let isOver = signal?.aborted === true
    const end = (): void => {
      isOver = true
      turn.wake()
    }
    const timer = setTimeout(end, timeout)
    signal?.addEventListener('abort', end, { once: true })
    try {
      const taken: T[] = []
      let bytes = 0
      for (;;) {
        const isMyTurn = this.#first(this.#drains) === turn
        if (isMyTurn) bytes += this.#takeInto(taken, max, maxBytes - bytes)
        const next = this.#items[this.#head]
        const isFull = taken.length === max || (taken.length > 0 && next !== undefined && bytes + next.bytes > maxBytes)
        if (isFull || isOver || (isMyTurn && this.#closed)) return this.#delivered(taken)
        if (timeout === 0) return this.#delivered(taken)
        await new Promise<void>(resolve => {
          turn.wake = resolve
        })
      }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      this.#drains.delete(turn)
      this.#wake()
    }
  }

  /** Closes the queue for new items and rejects waiting ones. Items in the queue can still be drained. */
  close(): void {
    this.#end(undefined)
  }

  /** Closes the queue. Drains reject with this error once the queue is empty. */
  fail(error: Error): void {
    this.#end(error)
  }

  /** Whether the queue is closed for new items. */
  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** Whether the queue is closed and empty. */
  get isEnded(): boolean {
    return this.#closed !== undefined && this.#length === 0
  }

  /** Figures of the queue. */
  get metrics(): QueueMetrics {
    const { maxItems, maxBytes } = this.#options
    return {
      maxItems,
      maxBytes,
      items: this.#length,
      bytes: this.#bytes,
      peakItems: this.#peakItems,
      peakBytes: this.#peakBytes,
      totalPut: this.#totalPut,
      totalTaken: this.#totalTaken,
      waitingPuts: this.#waitingPuts.size,
    }
  }

  get #length(): number {
    return this.#items.length - this.#head
  }

  #hasRoom(bytes: number): boolean {
    const { maxItems, maxBytes } = this.#options
    // Alone, an item may be larger: a world whose ticks outgrow the queue goes on more slowly instead of ending.
    return this.#length === 0 || (this.#length < maxItems && this.#bytes + bytes <= maxBytes)
  }

  #isAllowed(bytes: number, letIn: AbortSignal | undefined): boolean {
    return this.#allowance === undefined || letIn?.aborted === true || this.#allowance.has(bytes)
  }

  #push(item: T, bytes: number): void {
    this.#allowance?.take(bytes)
    this.#items.push({ item, bytes })
    this.#bytes += bytes
    this.#totalPut++
    this.#peakItems = Math.max(this.#peakItems, this.#length)
    this.#peakBytes = Math.max(this.#peakBytes, this.#bytes)
  }

  /**
   * Takes items while there are some and they fit, admitting waiting puts as room becomes free. Returns the bytes
   * taken.
   */
  #takeInto(taken: T[], max: number, room: number): number {
    let items = 0
    let bytes = 0
    for (let next = this.#items[this.#head]; next !== undefined; next = this.#items[this.#head]) {
      if (taken.length === max || (taken.length > 0 && bytes + next.bytes > room)) break
      taken.push(next.item)
      this.#head++
      this.#bytes -= next.bytes
      items++
      bytes += next.bytes
      this.#admit()
    }
    if (this.#head > 1_024 || this.#length === 0) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    this.#totalTaken += items
    if (items > 0) this.#options.onTaken?.(items, bytes)
    return bytes
  }

  #admit(): void {
    for (const waiting of this.#waitingPuts) {
      if (!this.#hasRoom(waiting.bytes) || !this.#isAllowed(waiting.bytes, waiting.letIn)) return
      this.#waitingPuts.delete(waiting)
      this.#push(waiting.item, waiting.bytes)
      waiting.resolve()
      this.#wake()
    }
  }

  #delivered(taken: T[]): T[] {
    if (taken.length === 0 && this.isEnded && this.#closed?.error) throw this.#closed.error
    return taken
  }

  #end(error: Error | undefined): void {
    if (this.#closed) return
    this.#closed = { error }
    for (const waiting of this.#waitingPuts) waiting.reject(error ?? new ClosedError('The queue'))
    this.#waitingPuts.clear()
    this.#wake()
  }

  #wake(): void {
    this.#first(this.#drains)?.wake()
  }

  #first<V>(set: ReadonlySet<V>): V | undefined {
    return set.values().next().value
  }
}

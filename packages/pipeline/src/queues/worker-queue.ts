/**
 * A bounded queue between two threads. Items are moved, not copied: their ArrayBuffer is transferred.
 *
 *   WorkerQueueSender ──item──▶ port ──▶ WorkerQueueReceiver ──▶ drain
 *                     ◀──credit─────────
 *
 * The receiver owns the limit. It grants credit (a number of items and of bytes) at the start and again for whatever is
 * drained; the sender spends it. So items in transit and items waiting at the receiver are within the limit together,
 * which a queue at either end alone could not enforce, because a port accepts everything.
 */
import type { MessagePort } from 'node:worker_threads'
import { ClosedError } from 'tidemark'
import {
  BoundedQueue,
  type DrainOptions,
  type QueueLimits,
  type QueueMetrics,
  type WaitOptions,
} from './bounded-queue.ts'
import { QueueBrokenError } from './errors.ts'

/** Item that can be moved between threads: anything that structured clone accepts, with most of its data in `bytes`. */
export type Movable = {
  /** Data that is moved instead of copied. */
  readonly bytes: Uint8Array
}

type ToReceiver<T> = { readonly type: 'item'; readonly item: T } | { readonly type: 'end' }
type ToSender =
  | { readonly type: 'open'; readonly limits: QueueLimits }
  | { readonly type: 'credit'; readonly items: number; readonly bytes: number }

type Waiting<T> = { readonly item: T; readonly resolve: () => void; readonly reject: (error: Error) => void }

/** End of a queue in the thread that fills it. */
export class WorkerQueueSender<T extends Movable> {
  readonly #port: MessagePort
  readonly #waiting = new Set<Waiting<T>>()
  #maxItems = 0
  #items = 0
  #bytes = 0
  #closed: Error | undefined

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (message: ToSender) => this.#receive(message))
    port.on('close', () => this.#end(new QueueBrokenError('the receiving thread closed it or ended')))
  }

  /** Resolves when the item is sent; its `bytes` are then empty here. Aborting the signal before withdraws it. */
  async put(item: T, { signal }: WaitOptions = {}): Promise<void> {
    signal?.throwIfAborted()
    if (this.#closed) throw this.#closed
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { item, resolve, reject }
    const abort = (): void => {
      this.#waiting.delete(waiting)
      reject(signal?.reason)
      this.#spend()
    }
    this.#waiting.add(waiting)
    signal?.addEventListener('abort', abort, { once: true })
    this.#spend()
    try {
      await promise
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Closes the queue. Waiting items are rejected; sent items arrive. */
  close(): void {
    if (this.#closed) return
    this.#end(new ClosedError('The queue'))
    this.#port.postMessage({ type: 'end' } satisfies ToReceiver<T>)
  }

  /** Calls of `put` that wait for space. */
  get waitingPuts(): number {
    return this.#waiting.size
  }

  #receive(message: ToSender): void {
    if (message.type === 'open') {
      this.#items = message.limits.maxItems
      this.#bytes = message.limits.maxBytes
      this.#maxItems = message.limits.maxItems
    } else {
      this.#items += message.items
      this.#bytes += message.bytes
    }
    this.#spend()
  }

  /** First come, first sent; a small item does not overtake a large one that waits. */
  #spend(): void {
    for (const waiting of this.#waiting) {
      const { item, resolve } = waiting
      const bytes = item.bytes.byteLength
      // An item that is larger than the queue is sent when the queue is empty; its credit is then below 0.
      const isAlone = this.#items === this.#maxItems
      if (this.#items < 1 || (bytes > this.#bytes && !isAlone)) return
      this.#waiting.delete(waiting)
      this.#items--
      this.#bytes -= bytes
      this.#send(item)
      resolve()
    }
  }

  #send(item: T): void {
    const bytes = inOwnBuffer(item.bytes)
    const moved = bytes === item.bytes ? item : { ...item, bytes }
    this.#port.postMessage({ type: 'item', item: moved } satisfies ToReceiver<T>, [bytes.buffer])
  }

  #end(error: Error): void {
    if (this.#closed) return
    this.#closed = error
    for (const waiting of this.#waiting) waiting.reject(error)
    this.#waiting.clear()
  }
}

/** End of a queue in the thread that drains it. */
export class WorkerQueueReceiver<T extends Movable> {
  readonly #port: MessagePort
  readonly #queue: BoundedQueue<T>

  constructor(port: MessagePort, limits: QueueLimits) {
    this.#port = port
    this.#queue = new BoundedQueue<T>({
      ...limits,
      sizeOf: item => item.bytes.byteLength,
      onTaken: (items, bytes) => this.#tell({ type: 'credit', items, bytes }),
    })
    port.on('message', (message: ToReceiver<T>) => this.#receive(message))
    port.on('close', () => this.#queue.fail(new QueueBrokenError('the sending thread ended without closing it')))
    const { maxItems, maxBytes } = limits
    this.#tell({ type: 'open', limits: { maxItems, maxBytes } })
  }

  /** Takes items like `BoundedQueue.drain`. Rejects when all items are taken and the sender ended without closing. */
  async drain(max: number, options: DrainOptions): Promise<T[]> {
    return await this.#queue.drain(max, options)
  }

  /** Accepts no more items; `put` of the sender rejects. Items that have arrived can still be drained. */
  close(): void {
    this.#queue.close()
    this.#port.close()
  }

  /** Whether the queue is closed and empty. */
  get isEnded(): boolean {
    return this.#queue.isEnded
  }

  /** Figures of the queue. */
  get metrics(): QueueMetrics {
    return this.#queue.metrics
  }

  #receive(message: ToReceiver<T>): void {
    if (message.type === 'end') {
      this.close()
    } else if (!this.#queue.isClosed && !this.#queue.tryPut(message.item)) {
      this.#queue.fail(new QueueBrokenError('the sender sent more than it had credit for'))
      this.#port.close()
    }
  }

  #tell(message: ToSender): void {
    this.#port.postMessage(message)
  }
}

/** The same array if it is alone in its buffer, as encoded ticks are; otherwise a copy that is. */
function inOwnBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes
  const isAlone = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
  return isAlone ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}

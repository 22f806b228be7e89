import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { IndexDatabaseError } from '../databases/errors.ts'
import type { PackedBytes } from '../databases/packing.ts'
import { WorkerEntryError, workerEntry } from '../services/worker-entry.ts'
import type { TilePlan } from './tile-plan.ts'
import {
  doTileWork,
  type FromTileThread,
  TILE_THREAD,
  type TileResult,
  type TileWork,
  type ToTileThread,
} from './tile-protocol.ts'

/**
 * Tiles of smaller worlds are rendered at once: that takes less than a millisecond, and a thread takes 60 ms to start.
 */
const SMALL_WORLD = 40_000
/** A thread that has been idle for this long ends; it holds about 15 MB. */
const IDLE_MS = 10_000
const MOST_THREADS = 2

type Waiting = { resolve(result: TileResult): void; reject(error: Error): void }

/**
 * Makes tiles of large worlds in threads, which start with the first and end when there is nothing to do. A tile of a
 * world of 600 000 cells takes 30 ms, in which nobody else would be answered.
 *
 * @example
 * await using opened = await openRunIndex('sqlite:./data/index', run)
 * await using makers = new TileMakers()
 * const plan = planTile(metadata, { size: { width: 512, height: 512 }, plane: 'type', reduce: 'telling' })
 * const pixels = await readTile(opened, 500, plan, makers)
 */
export class TileMakers implements AsyncDisposable {
  readonly #threads: TileThread[]
  #canThread = true

  constructor() {
    const count = Math.max(1, Math.min(MOST_THREADS, availableParallelism() - 1))
    this.#threads = Array.from({ length: count }, () => new TileThread())
  }

  /** Number of tiles that can be made at the same time. */
  get parallel(): number {
    return this.#threads.length
  }

  /**
   * Makes a tile. Rejects if the cells are damaged.
   *
   * @internal
   */
  async make(cells: PackedBytes, plan: TilePlan): Promise<TileResult> {
    return await this.#do({ type: 'make', cells, plan }, plan.worldSize)
  }

  /**
   * Replaces the owners of a tile by their lineages. The given pixels can't be used any more.
   *
   * @internal
   */
  async replace({ pixels, numbers }: TileResult, replacements: Int32Array): Promise<TileResult> {
    return await this.#do({ type: 'replace', pixels, from: numbers, to: replacements }, pixels.length)
  }

  /** Ends the threads. Work in progress is rejected. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map(thread => thread.end()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #do(work: TileWork, cells: number): Promise<TileResult> {
    if (cells > SMALL_WORLD && this.#canThread) {
      try {
        return await this.#leastBusy().do(work)
      } catch (error) {
        // A bundle without the thread's file renders its tiles here.
        if (!(error instanceof WorkerEntryError)) throw error
        this.#canThread = false
      }
    }
    return doTileWork(work)
  }

  #leastBusy(): TileThread {
    return this.#threads.reduce((best, thread) => (thread.busy < best.busy ? thread : best))
  }
}

class TileThread {
  #worker: Worker | undefined
  readonly #waiting = new Map<number, Waiting>()
  #last = 0
  #idle: NodeJS.Timeout | undefined

  get busy(): number {
    return this.#waiting.size
  }

  do(work: TileWork): Promise<TileResult> {
    this.#worker ??= this.#start()
    clearTimeout(this.#idle)
    const id = ++this.#last
    const { promise, resolve, reject } = Promise.withResolvers<TileResult>()
    this.#waiting.set(id, { resolve, reject })
    this.#worker.ref()
    const message: ToTileThread = { id, work }
    this.#worker.postMessage(message, work.type === 'replace' ? [work.pixels.buffer as ArrayBuffer] : [])
    return promise
  }

  async end(): Promise<void> {
    clearTimeout(this.#idle)
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(workerEntry(), { name: 'tiles', workerData: TILE_THREAD })
    worker.on('message', (message: FromTileThread) => this.#hear(message))
    worker.on('error', error => this.#fail(worker, `failed: ${error instanceof Error ? error.message : String(error)}`))
    worker.on('exit', code => this.#fail(worker, `ended with code ${code}`))
    return worker
  }

  #hear(message: FromTileThread): void {
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if ('result' in message) waiting?.resolve(message.result)
    else waiting?.reject(Object.assign(new Error(message.problem.message), message.problem))
    if (this.#waiting.size > 0) return
    // Idle: does not keep a finished program alive.
    this.#worker?.unref()
    this.#idle = setTimeout(() => void this.end(), IDLE_MS)
    this.#idle.unref()
  }

  #fail(worker: Worker, problem: string): void {
    if (this.#worker !== undefined && this.#worker !== worker) return
    this.#worker = undefined
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting)
      reject(new IndexDatabaseError(`The thread that makes tiles ${problem}. Try again`))
  }
}

import { bytesOf, type Frame, type PlaneChoice } from './plane.ts'
import { startWorker } from './start-worker.ts'
import type { Loaded, Nearest, Wanted } from './worker.ts'

/** Maximum memory of decoded ticks; the least recently used is evicted first. */
const MOST_BYTES = 128 * 1024 ** 2
const AT_ONCE = 6

export class MissingTick extends Error {
  override readonly name = 'MissingTick'
  /** The existing ticks next to it, if the server has named them. */
  readonly nearest: Nearest | undefined

  constructor(detail: string, nearest: Nearest | undefined) {
    super(detail)
    this.nearest = nearest
  }
}

/** Ticks of one run in one plane, loaded once and kept. */
export class Frames {
  readonly #runId: string
  readonly #shape: readonly number[]
  readonly #plane: PlaneChoice
  readonly #worker = startWorker()
  readonly #kept = new Map<number, Frame>()
  readonly #loading = new Map<number, Promise<Frame>>()
  readonly #answers = new Map<number, (loaded: Loaded) => void>()
  /** Ticks that the server does not have. They are requested again when the user goes there. */
  readonly #missing = new Set<number>()
  #bytes = 0
  #last = 0
  /** For the budgets. */
  slowestDecodeMs = 0

  constructor(runId: string, shape: readonly number[], plane: PlaneChoice) {
    this.#runId = runId
    this.#shape = shape
    this.#plane = plane
    this.#worker.onmessage = ({ data }: MessageEvent<Loaded>) => this.#answers.get(data.id)?.(data)
  }

  /** What is loaded already. */
  peek(tick: number): Frame | undefined {
    const frame = this.#kept.get(tick)
    if (frame !== undefined) {
      this.#kept.delete(tick)
      this.#kept.set(tick, frame)
    }
    return frame
  }

  async get(tick: number): Promise<Frame> {
    const kept = this.peek(tick)
    if (kept !== undefined) return kept
    const loading = this.#loading.get(tick) ?? this.#load(tick).finally(() => this.#loading.delete(tick))
    this.#loading.set(tick, loading)
    return await loading
  }

  /** Loads ahead, a few at a time, without cancelling requests in flight. */
  prefetch(ticks: readonly number[]): void {
    for (const tick of ticks) {
      if (this.#loading.size >= AT_ONCE) return
      if (this.#kept.has(tick) || this.#loading.has(tick) || this.#missing.has(tick)) continue
      this.get(tick).catch(() => undefined)
    }
  }

  has = (tick: number): boolean => this.#kept.has(tick)

  isMissing = (tick: number): boolean => this.#missing.has(tick)

  close(): void {
    this.#worker.terminate()
    this.#kept.clear()
  }

  #load(tick: number): Promise<Frame> {
    const id = ++this.#last
    const url = new URL(`/api/v1/runs/${this.#runId}/environment/${tick}`, location.href).href
    const { promise, resolve, reject } = Promise.withResolvers<Frame>()
    this.#answers.set(id, loaded => {
      this.#answers.delete(id)
      if ('frame' in loaded) {
        this.slowestDecodeMs = Math.max(this.slowestDecodeMs, loaded.decodeMs)
        this.#missing.delete(tick)
        this.#keep(loaded.frame)
        resolve(loaded.frame)
      } else if (loaded.status === 404) {
        this.#missing.add(tick)
        reject(new MissingTick(loaded.detail, loaded.nearest))
      } else reject(new Error(loaded.detail))
    })
    const wanted: Wanted = { id, url, tick, shape: this.#shape, plane: this.#plane }
    this.#worker.postMessage(wanted)
    return promise
  }

  #keep(frame: Frame): void {
    this.#kept.set(frame.tick, frame)
    this.#bytes += bytesOf(frame)
    for (const [tick, oldest] of this.#kept) {
      if (this.#bytes <= MOST_BYTES || this.#kept.size === 1) break
      this.#kept.delete(tick)
      this.#bytes -= bytesOf(oldest)
    }
  }
}

import { bytesOf, type Frame, type PlaneChoice } from './plane.ts'
import type { NearestTicks } from './run-shapes.ts'
import { type Source, sourceOf } from './source.ts'
import { startWorker } from './start-worker.ts'
import type { Loaded, Wanted } from './worker.ts'

/** Decoded ticks stay until they take this much; the least recently used goes first. */
const MOST_BYTES = 128 * 1024 ** 2
const AT_ONCE = 6
/** The part of the memory that is for ticks to come. */
const AHEAD_SHARE = 0.75
/** Fewer ticks than this are not worth a stream. */
const LEAST_STREAMED = 4

export class MissingTick extends Error {
  override readonly name = 'MissingTick'
  readonly nearest: NearestTicks | undefined

  constructor(detail: string, nearest: NearestTicks | undefined) {
    super(detail)
    this.nearest = nearest
  }
}

/** Ticks of one run in one plane, loaded once and kept. */
export class Frames {
  readonly #runId: string
  readonly #shape: readonly number[]
  readonly #plane: PlaneChoice
  readonly #source: Source
  readonly #worker = startWorker()
  readonly #kept = new Map<number, Frame>()
  readonly #loading = new Map<number, Promise<Frame>>()
  readonly #answers = new Map<number, (loaded: Loaded) => void>()
  /** Ticks that the server does not have. They are asked for again when somebody goes there. */
  readonly #missing = new Set<number>()
  /** Ticks that a stream will bring. */
  readonly #streamed = new Set<number>()
  #stream: number | undefined
  #bytes = 0
  #last = 0
  /** For the budgets. */
  slowestDecodeMs = 0

  constructor(runId: string, shape: readonly number[], plane: PlaneChoice) {
    this.#runId = runId
    this.#shape = shape
    this.#plane = plane
    this.#source = sourceOf(shape, plane)
    this.#worker.onmessage = ({ data }: MessageEvent<Loaded>) => this.#answers.get(data.id)?.(data)
  }

  /** What is there already. */
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

  /** Frames that may be loaded ahead without pushing each other out. */
  get mostAhead(): number {
    const [frame] = this.#kept.values()
    return frame === undefined ? AT_ONCE : Math.max(2, Math.floor((MOST_BYTES * AHEAD_SHARE) / bytesOf(frame)))
  }

  /** Loads ahead, and gives up none of what is on its way. */
  prefetch(ticks: readonly number[]): void {
    const absent = ticks.slice(0, this.mostAhead).filter(tick => !this.#isKnown(tick))
    if (this.#source.kind === 'planes' && absent.length >= LEAST_STREAMED) {
      if (this.#stream === undefined) this.#openStream(absent)
      return
    }
    for (const tick of absent) {
      if (this.#loading.size >= AT_ONCE) return
      this.get(tick).catch(() => undefined)
    }
  }

  #isKnown = (tick: number): boolean =>
    this.#kept.has(tick) || this.#loading.has(tick) || this.#streamed.has(tick) || this.#missing.has(tick)

  has = (tick: number): boolean => this.#kept.has(tick)

  isMissing = (tick: number): boolean => this.#missing.has(tick)

  close(): void {
    this.#worker.terminate()
    this.#kept.clear()
  }

  #load(tick: number): Promise<Frame> {
    const id = ++this.#last
    const { promise, resolve, reject } = Promise.withResolvers<Frame>()
    this.#answers.set(id, loaded => {
      this.#answers.delete(id)
      if ('frame' in loaded) {
        this.#take(loaded)
        resolve(loaded.frame)
      } else if ('status' in loaded && loaded.status === 404) {
        this.#missing.add(tick)
        reject(new MissingTick(loaded.detail, loaded.nearest))
      } else reject(new Error('detail' in loaded ? loaded.detail : 'The tick did not come'))
    })
    this.#worker.postMessage(this.#wanted(id, tick))
    return promise
  }

  #wanted(id: number, tick: number): Wanted {
    const path = `environment/${tick}`
    if (this.#source.kind === 'planes') return { id, tick, kind: 'tile', urls: this.#planes(`${path}/tile`, {}) }
    return { id, tick, kind: 'whole', url: this.#url(path), shape: this.#shape, plane: this.#plane }
  }

  /** Ticks at equal distances, as far as they are. */
  #openStream(ticks: readonly number[]): void {
    const [from = 0, second = 0] = ticks
    const every = Math.max(1, second - from)
    const run = ticks.filter((tick, index) => tick === from + index * every)
    const to = run.at(-1) ?? from
    const id = ++this.#last
    this.#stream = id
    for (const tick of run) this.#streamed.add(tick)
    const over = (): void => {
      this.#answers.delete(id)
      this.#stream = undefined
      for (const tick of run) this.#streamed.delete(tick)
    }
    this.#answers.set(id, loaded => {
      if ('frame' in loaded) {
        this.#streamed.delete(loaded.frame.tick)
        this.#take(loaded)
      } else if ('missingFrom' in loaded) {
        for (const tick of run) if (tick >= loaded.missingFrom && tick <= loaded.missingTo) this.#missing.add(tick)
      } else over()
    })
    this.#worker.postMessage({
      id,
      tick: from,
      kind: 'stream',
      urls: this.#planes('frames', { from, to, every }),
    } satisfies Wanted)
  }

  #take({ frame, decodeMs }: Loaded & { frame: Frame; decodeMs: number }): void {
    this.slowestDecodeMs = Math.max(this.slowestDecodeMs, decodeMs)
    this.#missing.delete(frame.tick)
    if (!this.#kept.has(frame.tick)) this.#keep(frame)
  }

  #planes(path: string, more: { readonly [name: string]: number }): string[] {
    const tile = this.#source.kind === 'planes' ? this.#source.tile : ''
    return ['type', 'value', 'owner'].map(plane => {
      const query = new URLSearchParams(tile)
      for (const [name, value] of Object.entries({ ...more, plane })) query.set(name, String(value))
      return `${this.#url(path)}?${query}`
    })
  }

  #url = (path: string): string =>
    new URL(`/api/v1/runs/${encodeURIComponent(this.#runId)}/${path}`, location.href).href

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

import { FrameStore } from './frame-store.ts'
import type { PackedFrame } from './packer.ts'
import type { Frame, PlaneChoice } from './plane.ts'
import type { NearestTicks } from './run-shapes.ts'
import { type Source, sourceOf } from './source.ts'
import { startWorker } from './start-worker.ts'
import type { Loaded, Wanted } from './worker.ts'

/** Loaded ticks stay, packed, until they take this much; the least recently used go first. */
const MOST_BYTES = 56 * 1024 ** 2
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
  readonly #kept = new FrameStore(MOST_BYTES)
  readonly #loading = new Map<number, Promise<void>>()
  readonly #answers = new Map<number, (loaded: Loaded) => void>()
  /** Ticks that the server does not have. They are asked for again when somebody goes there. */
  readonly #missing = new Set<number>()
  /** Ticks that a stream will bring. */
  readonly #streamed = new Set<number>()
  #stream: number | undefined
  #last = 0
  /** Of the last tick, in the worker, with packing. */
  decodeMs = 0

  constructor(runId: string, shape: readonly number[], plane: PlaneChoice) {
    this.#runId = runId
    this.#shape = shape
    this.#plane = plane
    this.#source = sourceOf(shape, plane)
    this.#worker.onmessage = ({ data }: MessageEvent<Loaded>) => this.#answers.get(data.id)?.(data)
  }

  /** What is there already. */
  peek = (tick: number): Frame | undefined => this.#kept.get(tick)

  /** For the budgets. */
  get kept(): { readonly ticks: number; readonly bytes: number } {
    return this.#kept
  }

  async get(tick: number): Promise<Frame> {
    if (!this.#kept.has(tick)) await this.#fetch(tick, false)
    const frame = this.peek(tick)
    if (frame === undefined) throw new Error('The tick did not stay in memory')
    return frame
  }

  /** Frames that may be loaded ahead without pushing each other out. */
  get mostAhead(): number {
    const { ticks, bytes } = this.#kept
    return ticks === 0 ? AT_ONCE : Math.max(2, Math.floor((MOST_BYTES * AHEAD_SHARE * ticks) / Math.max(1, bytes)))
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
      this.#fetch(tick, true).catch(() => undefined)
    }
  }

  /** Ticks that are fetched ahead are packed in their order, each as the difference to the one before. */
  #fetch(tick: number, isAhead: boolean): Promise<void> {
    const loading = this.#loading.get(tick) ?? this.#load(tick, isAhead).finally(() => this.#loading.delete(tick))
    this.#loading.set(tick, loading)
    return loading
  }

  #isKnown = (tick: number): boolean =>
    this.#kept.has(tick) || this.#loading.has(tick) || this.#streamed.has(tick) || this.#missing.has(tick)

  has = (tick: number): boolean => this.#kept.has(tick)

  isMissing = (tick: number): boolean => this.#missing.has(tick)

  close(): void {
    this.#worker.terminate()
    this.#kept.clear()
  }

  #load(tick: number, isAhead: boolean): Promise<void> {
    const id = ++this.#last
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#answers.set(id, loaded => {
      this.#answers.delete(id)
      if ('frame' in loaded) {
        this.#take(loaded)
        resolve()
      } else if ('status' in loaded && loaded.status === 404) {
        this.#missing.add(tick)
        reject(new MissingTick(loaded.detail, loaded.nearest))
      } else reject(new Error('detail' in loaded ? loaded.detail : 'The tick did not come'))
    })
    this.#worker.postMessage(this.#wanted(id, tick, isAhead))
    return promise
  }

  #wanted(id: number, tick: number, isAhead: boolean): Wanted {
    const path = `environment/${tick}`
    if (this.#source.kind === 'planes')
      return { id, tick, isAhead, kind: 'tile', urls: this.#planes(`${path}/tile`, {}) }
    return { id, tick, isAhead, kind: 'whole', url: this.#url(path), shape: this.#shape, plane: this.#plane }
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
      isAhead: true,
      kind: 'stream',
      urls: this.#planes('frames', { from, to, every }),
    } satisfies Wanted)
  }

  #take({ frame, decodeMs }: Loaded & { frame: PackedFrame; decodeMs: number }): void {
    this.decodeMs = decodeMs
    this.#missing.delete(frame.tick)
    // Also one that is there already: the next is the difference to it.
    this.#kept.add(frame)
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
}

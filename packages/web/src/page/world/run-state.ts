import { batch, computed, signal } from '@preact/signals'
import { at, get, Problem } from '../http.ts'
import { LivePace } from './live-pace.ts'
import type { IndexedTicks, Range, Ranges, RunDetails, SeriesPoint } from './run-shapes.ts'
import { SPEEDS } from './speeds.ts'

const SERIES_POINTS = 600

/** A run as it is looked at: which ticks there are, which one is shown, and whether it plays. */
export class RunState {
  readonly runId: string
  readonly details = signal<RunDetails | undefined>(undefined)
  readonly error = signal<unknown>(undefined)
  /** It existed and is gone: somebody has deleted it. */
  readonly isGone = signal(false)
  readonly range = signal<Range | null>(null)
  readonly gaps = signal<readonly (readonly [start: number, end: number])[]>([])
  readonly series = signal<readonly SeriesPoint[]>([])
  /** The tick that is asked for. */
  readonly tick = signal(0)
  /** The tick that is drawn: it follows as soon as its cells are there. */
  readonly shown = signal(-1)
  /** The tick under the pointer, in a chart or on the timeline: all of them show it. */
  readonly crosshair = signal<number | undefined>(undefined)
  readonly isLive = signal(true)
  readonly isPlaying = signal(false)
  /** Ticks of the recording per second. */
  readonly speed = signal(30)
  /** Frames arrive more slowly than they are played: the actual ticks per second, or undefined. */
  readonly slowedTo = signal<number | undefined>(undefined)
  readonly pace = new LivePace()

  readonly interval = computed(() => this.details.value?.metadata?.samplingInterval ?? 1)

  constructor(runId: string) {
    this.runId = runId
  }

  /** `start` is the tick to begin with; without it the run is followed live. */
  async load(start?: number): Promise<void> {
    try {
      const details = await get<RunDetails>(at('runs', this.runId))
      batch(() => {
        this.details.value = details
        this.error.value = undefined
        this.isGone.value = false
        this.setRange(details.indexed.environment)
        if (start !== undefined) this.goTo(start)
      })
      await Promise.all([this.loadGaps(), this.loadSeries()])
    } catch (error) {
      if (!this.#goneBy(error)) this.error.value = error
    }
  }

  async loadGaps(): Promise<void> {
    const { gaps } = await get<IndexedTicks>(`${at('runs', this.runId)}/ticks`)
    this.gaps.value = gaps
  }

  async loadSeries(): Promise<void> {
    const { points } = await get<{ points: SeriesPoint[] }>(`${at('runs', this.runId)}/series`, {
      query: { points: SERIES_POINTS },
    })
    this.series.value = points
  }

  /** The end of the run has moved, as the stream of events says. */
  grownTo(tick: number): void {
    const range = this.range.peek()
    if (range !== null && tick > range.tickEnd) this.setRange({ ...range, tickEnd: tick })
  }

  /** Asked again while a run grows. */
  async refresh(): Promise<void> {
    try {
      const { environment } = await get<Ranges>(`${at('runs', this.runId)}/ranges`)
      this.setRange(environment)
    } catch (error) {
      this.#goneBy(error)
    }
  }

  #goneBy(error: unknown): boolean {
    const isGone = error instanceof Problem && error.status === 404 && this.details.peek() !== undefined
    if (isGone) {
      this.isPlaying.value = false
      this.isGone.value = true
    }
    return isGone
  }

  setRange(range: Range | null): void {
    const before = this.range.peek()
    if (before?.tickEnd !== range?.tickEnd || before?.tickStart !== range?.tickStart) this.range.value = range
    if (range === null) return
    this.pace.saw(range.tickEnd, performance.now())
    // The player moves it from here on; without this the first picture would be of tick 0.
    if (before === null && this.isLive.peek()) this.tick.value = this.near(this.pace.tickAt(performance.now()))
  }

  /** The nearest tick that can be there: within the range, on a sample. */
  near(tick: number): number {
    const range = this.range.value
    if (range === null) return 0
    const step = this.interval.value
    const sampled = range.tickStart + Math.round((tick - range.tickStart) / step) * step
    return Math.min(range.tickEnd, Math.max(range.tickStart, sampled))
  }

  goTo(tick: number): void {
    batch(() => {
      this.isLive.value = false
      this.tick.value = this.near(tick)
    })
  }

  /** `1200`, `+1000`, `-50`, as typed. False: no number. */
  jump(text: string): boolean {
    const plain = text.replaceAll(/[\s\u202f,]/g, '').replace('−', '-')
    if (!/^[+-]?\d+$/.test(plain)) return false
    this.isPlaying.value = false
    this.goTo(/^[+-]/.test(plain) ? this.tick.value + Number(plain) : Number(plain))
    return true
  }

  step(samples: number): void {
    this.isPlaying.value = false
    this.goTo(this.tick.value + samples * this.interval.value)
  }

  faster(step: 1 | -1): void {
    const place = SPEEDS.findLastIndex(speed => speed <= this.speed.value)
    this.speed.value = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, place + step))] ?? this.speed.value
  }

  followLive(): void {
    this.pace.restart()
    batch(() => {
      this.isPlaying.value = false
      this.isLive.value = true
    })
  }

  togglePlay(): void {
    const range = this.range.value
    if (range === null) return
    batch(() => {
      // Live, it is already playing: the key stops it at the shown tick.
      if (this.isLive.value) {
        this.goTo(this.tick.value)
        return
      }
      if (!this.isPlaying.value && this.tick.value >= range.tickEnd) this.tick.value = range.tickStart
      this.isPlaying.value = !this.isPlaying.value
    })
  }

  /** The samples that come next, `stride` ticks apart. */
  ahead(count: number, stride = this.interval.value): number[] {
    const end = this.range.value?.tickEnd ?? 0
    const ticks: number[] = []
    for (let tick = this.tick.value + stride; tick <= end && ticks.length < count; tick += stride) {
      if (!this.isGap(tick)) ticks.push(tick)
    }
    return ticks
  }

  isGap = (tick: number): boolean => this.gaps.value.some(([start, end]) => tick >= start && tick <= end)

  /** The nearest samples outside of the gap around a tick. */
  around(tick: number): { readonly before: number | undefined; readonly after: number | undefined } {
    const range = this.range.value
    if (range === null) return { before: undefined, after: undefined }
    const step = this.interval.value
    const gap = this.gaps.value.find(([start, end]) => tick >= start && tick <= end) ?? [tick, tick]
    const [before, after] = [this.near(gap[0] - step), this.near(gap[1] + step)]
    return {
      before: before < gap[0] && !this.isGap(before) ? before : undefined,
      after: after > gap[1] && !this.isGap(after) ? after : undefined,
    }
  }
}

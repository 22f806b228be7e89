import { batch, computed, signal } from '@preact/signals'
import { at, get } from '../http.ts'
import type { Range, RunDetails, SeriesPoint } from './run-shapes.ts'

/** A run in the viewer: which ticks exist, which one is shown, and whether it plays. */
export class RunState {
  readonly runId: string
  readonly details = signal<RunDetails | undefined>(undefined)
  readonly error = signal<unknown>(undefined)
  readonly range = signal<Range | null>(null)
  readonly gaps = signal<readonly (readonly [start: number, end: number])[]>([])
  readonly series = signal<readonly SeriesPoint[]>([])
  /** The requested tick. */
  readonly tick = signal(0)
  /** The drawn tick: it follows as soon as its cells are loaded. */
  readonly shown = signal(-1)
  readonly isLive = signal(true)
  readonly isPlaying = signal(false)
  /** Ticks of the recording per second. */
  readonly speed = signal(30)
  /** Shown beside the play button when frames arrive more slowly than they are played. */
  readonly isStarved = signal(false)

  readonly interval = computed(() => this.details.value?.metadata?.samplingInterval ?? 1)

  constructor(runId: string) {
    this.runId = runId
  }

  async load(): Promise<void> {
    try {
      const details = await get<RunDetails>(at('runs', this.runId))
      batch(() => {
        this.details.value = details
        this.error.value = undefined
        this.setRange(details.indexed.environment)
      })
      await Promise.all([this.loadGaps(), this.loadSeries()])
    } catch (error) {
      this.error.value = error
    }
  }

  async loadGaps(): Promise<void> {
    const { gaps } = await get<{ gaps: { indexer: string; tickStart: number; tickEnd: number }[] }>(
      `${at('runs', this.runId)}/gaps`,
    )
    this.gaps.value = gaps
      .filter(({ indexer }) => indexer.includes('environment'))
      .map(({ tickStart, tickEnd }) => [tickStart, tickEnd] as const)
  }

  async loadSeries(): Promise<void> {
    const { points } = await get<{ points: SeriesPoint[] }>(`${at('runs', this.runId)}/series`, {
      query: { points: 600 },
    })
    this.series.value = points
  }

  /** Called repeatedly while a run grows. */
  async refresh(): Promise<void> {
    const { environment } = await get<{ environment: Range | null }>(`${at('runs', this.runId)}/ranges`)
    this.setRange(environment)
  }

  setRange(range: Range | null): void {
    this.range.value = range
    if (range === null) return
    if (this.isLive.peek()) this.tick.value = range.tickEnd
  }

  /** The nearest tick that can exist: within the range, on a sample. */
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

  step(samples: number): void {
    this.isPlaying.value = false
    this.goTo(this.tick.value + samples * this.interval.value)
  }

  followLive(): void {
    batch(() => {
      this.isPlaying.value = false
      this.isLive.value = true
      if (this.range.value !== null) this.tick.value = this.range.value.tickEnd
    })
  }

  togglePlay(): void {
    const range = this.range.value
    if (range === null) return
    batch(() => {
      if (!this.isPlaying.value && this.tick.value >= range.tickEnd) this.tick.value = range.tickStart
      this.isLive.value = false
      this.isPlaying.value = !this.isPlaying.value
    })
  }

  /** The samples that come next when playing. */
  ahead(count: number): number[] {
    const end = this.range.value?.tickEnd ?? 0
    const step = this.interval.value
    const ticks: number[] = []
    for (let tick = this.tick.value + step; tick <= end && ticks.length < count; tick += step) {
      if (!this.isGap(tick)) ticks.push(tick)
    }
    return ticks
  }

  isGap = (tick: number): boolean => this.gaps.value.some(([start, end]) => tick >= start && tick <= end)
}

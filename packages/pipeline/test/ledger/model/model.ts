import type { Batch, LedgerCounts, TickRange } from '@tidemark/pipeline'

export type World = {
  readonly samplingInterval: number
  readonly firstTick: number | null
  readonly releases: boolean
}

type Status = 'claimed' | 'completed' | 'failed' | 'gap_pending' | 'ready'
type State = { status: Status; version: number; claimedAt: number; readonly batch: Batch }
export type ModelGap = { ticks: [number, number]; isPermanent: boolean; isSkipped: boolean }

export const CLAIM_TIMEOUT = 5 * 60_000
export const GAP_WARNING = 60 * 60_000

/**
 * What a ledger does, as plainly as it can be said: sets of single ticks, looked through anew each time. Nothing here
 * knows of ranges that merge.
 */
export class LedgerModel {
  readonly states = new Map<string, State>()
  /** Completions that counted, by batch. */
  readonly completions = new Map<string, number>()
  readonly #world: World
  readonly #arrived = new Set<number>()
  readonly #processed = new Set<number>()
  /** Whatever is connected with one of these waits for nothing. */
  readonly #free = new Set<number>()
  readonly #missing = new Map<number, { since: number; isReported: boolean; isSkipped: boolean }>()
  #recorded = 0
  #now = 0

  constructor(world: World) {
    this.#world = world
  }

  pass(ms: number): void {
    this.#now += ms
  }

  tryClaim(batch: Batch): string {
    const state = this.states.get(batch.key)
    if (state === undefined) return this.#arriveAndClaim(batch)
    if (state.status === 'ready' || this.#isStuck(state)) return this.#claim(state)
    return state.status === 'claimed' ? 'held' : state.status
  }

  claimNext(): string | null {
    const inOrder = [...this.states.values()].sort(
      (a, b) => a.batch.tickStart - b.batch.tickStart || (a.batch.key < b.batch.key ? -1 : 1),
    )
    const next = inOrder.find(state => this.#isStuck(state)) ?? inOrder.find(({ status }) => status === 'ready')
    if (next === undefined) return null
    this.#claim(next)
    return `${next.batch.key}@${next.version}`
  }

  settle(key: string, version: number, as: 'completed' | 'failed' | 'ready'): string {
    const state = this.states.get(key)
    if (state?.version !== version) return 'stale'
    if (state.status === as) return 'done'
    if (state.status !== 'claimed') return 'stale'
    state.status = as
    if (as === 'completed') {
      for (const tick of this.#ticksOf(state.batch)) this.#processed.add(tick)
      this.completions.set(key, (this.completions.get(key) ?? 0) + 1)
    }
    return 'done'
  }

  extend(key: string, version: number): string {
    const state = this.states.get(key)
    if (state?.version !== version || state.status !== 'claimed') return 'stale'
    state.claimedAt = this.#now
    return 'done'
  }

  retry(key: string): boolean {
    const state = this.states.get(key)
    if (state?.status !== 'failed') return false
    state.status = 'ready'
    return true
  }

  record(range: TickRange): boolean {
    const ticks = this.#ticksOf(range)
    this.#arrive(ticks)
    for (const tick of ticks) this.#free.add(tick)
    this.#release()
    const isNew = ticks.some(tick => !this.#processed.has(tick))
    for (const tick of ticks) this.#processed.add(tick)
    if (isNew) this.#recorded++
    return isNew
  }

  reportPermanentGaps(): [number, number][] {
    const isOverdue = (tick: number): boolean => this.#now - (this.#missing.get(tick)?.since ?? 0) >= GAP_WARNING
    const overdue = this.#runs(tick => this.#missing.has(tick)).filter(([start]) => isOverdue(start))
    const reported = overdue.filter(([start]) => !this.#missing.get(start)?.isReported)
    for (const [start, end] of overdue) {
      const behind = end + this.#world.samplingInterval
      for (const tick of this.#ticksOf({ tickStart: start, tickEnd: end })) {
        const missing = this.#missing.get(tick)
        if (missing === undefined) continue
        const isNew = !missing.isReported
        missing.isReported = true
        // A gap that nothing waits for need not be given up, except in its own report.
        if (this.#world.releases && (isNew || this.#isHeld(behind))) missing.isSkipped = true
      }
    }
    if (this.#world.releases) for (const [, end] of overdue) this.#free.add(end + this.#world.samplingInterval)
    this.#release()
    return reported
  }

  counts(): LedgerCounts {
    const counts = { claimed: 0, completed: 0, failed: 0, gap_pending: 0, ready: 0, recorded: this.#recorded }
    for (const { status } of this.states.values()) counts[status]++
    return counts
  }

  processedRanges(): [number, number][] {
    return this.#runs(tick => this.#processed.has(tick))
  }

  gaps(): ModelGap[] {
    return this.#runs(tick => this.#missing.has(tick)).map(ticks => ({
      ticks,
      isPermanent: this.#missing.get(ticks[0])?.isReported === true,
      isSkipped: this.#missing.get(ticks[0])?.isSkipped === true,
    }))
  }

  #arriveAndClaim(batch: Batch): string {
    const ticks = this.#ticksOf(batch)
    this.#arrive(ticks)
    const state: State = { status: 'gap_pending', version: 0, claimedAt: 0, batch }
    this.states.set(batch.key, state)
    const isHeld = this.#isHeld(batch.tickStart)
    // Others first: what arrived may free them as well.
    this.states.delete(batch.key)
    this.#release()
    this.states.set(batch.key, state)
    return isHeld ? 'gap_pending' : this.#claim(state)
  }

  #arrive(ticks: number[]): void {
    // Ticks of a gap that was given up hold up nobody, wherever in it they are.
    for (const tick of ticks) if (this.#missing.get(tick)?.isSkipped) this.#free.add(tick)
    for (const tick of ticks) {
      this.#arrived.add(tick)
      this.#missing.delete(tick)
    }
    const highest = Math.max(...this.#arrived)
    const lowest = this.#world.firstTick ?? Math.min(...this.#arrived)
    for (const tick of this.#ticksOf({ tickStart: lowest, tickEnd: highest })) {
      if (this.#arrived.has(tick) || this.#missing.has(tick)) continue
      this.#missing.set(tick, { since: this.#now, isReported: false, isSkipped: false })
    }
    // With any tick as the first, what came before all others was never held.
    if (this.#world.firstTick === null) this.#free.add(Math.min(...this.#arrived))
  }

  #release(): void {
    for (const state of this.states.values()) {
      if (state.status === 'gap_pending' && !this.#isHeld(state.batch.tickStart)) state.status = 'ready'
    }
  }

  /** Whether the run of arrived ticks that this one is in begins behind a gap, and nothing in it is free. */
  #isHeld(tick: number): boolean {
    const { samplingInterval, firstTick } = this.#world
    let low = tick
    while (this.#arrived.has(low - samplingInterval)) low -= samplingInterval
    if (low === firstTick) return false
    for (let each = low; this.#arrived.has(each); each += samplingInterval) if (this.#free.has(each)) return false
    return true
  }

  #claim(state: State): string {
    Object.assign(state, { status: 'claimed', version: state.version + 1, claimedAt: this.#now })
    return 'claimed'
  }

  #isStuck({ status, claimedAt }: State): boolean {
    return status === 'claimed' && this.#now - claimedAt >= CLAIM_TIMEOUT
  }

  #ticksOf({ tickStart, tickEnd }: TickRange): number[] {
    const count = (tickEnd - tickStart) / this.#world.samplingInterval + 1
    return Array.from({ length: count }, (_, index) => tickStart + index * this.#world.samplingInterval)
  }

  #runs(isIn: (tick: number) => boolean): [number, number][] {
    const runs: [number, number][] = []
    const all = [...this.#arrived, ...this.#missing.keys()].filter(isIn).sort((a, b) => a - b)
    for (const tick of all) {
      const last = runs.at(-1)
      if (last !== undefined && last[1] + this.#world.samplingInterval === tick) last[1] = tick
      else runs.push([tick, tick])
    }
    return runs
  }
}

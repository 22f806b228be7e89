import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Tick } from '../../contracts/tick.ts'
import { SimulationError, SimulationOptionError } from './errors.ts'
import { Pace } from './pace.ts'
import type { Simulation } from './simulation.ts'

/** Where the ticks go. The source waits for each `put`, which should give up when the signal aborts. */
export type TickSink = { put(tick: Tick, signal: AbortSignal): Promise<void> }

export type SimulationSourceOptions = {
  readonly simulation: Simulation
  readonly runId: string
  readonly sink: TickSink
  /** Emit the ticks that are multiples of this number (default 1: every tick). */
  readonly samplingInterval?: number
  /** Maximum ticks per second (default: no limit). */
  readonly ticksPerSecond?: number
  /** Tick after which the run ends, counted from tick 0 (default: it runs until it is stopped). */
  readonly maxTicks?: number
}

export type SourceState = 'STOPPED' | 'RUNNING' | 'PAUSED'

/** Maximum time that other work of the process has to wait, approximately. */
const SLICE_MS = 8

/**
 * Steps a simulation and passes its ticks to a sink.
 *
 *   STOPPED ──run()──▶ RUNNING ◀──resume()/pause()──▶ PAUSED
 *      ▲                  │                             │
 *      └── maxTicks, signal, or an error of the sink ───┘
 *
 * Tick 0 is passed on as well. A restored simulation begins with the tick after the saved one: save it after `pause()` or
 * the end of `run()`, when the sink is known to have `lastTick`.
 */
export class SimulationSource {
  readonly #options: Required<SimulationSourceOptions>
  #state: SourceState = 'STOPPED'
  #lastTick: number | null = null
  /** Set while a pause is requested. */
  #pause: Pause | undefined
  readonly #pace: Pace
  /** Requested, the first first; made while it stands still. */
  #steps: Steps[] = []
  #stepAsked = Promise.withResolvers<void>()

  constructor(options: SimulationSourceOptions) {
    this.#options = {
      ...options,
      samplingInterval: wholeNumber('samplingInterval', options.samplingInterval ?? 1),
      ticksPerSecond: positive('ticksPerSecond', options.ticksPerSecond ?? Number.POSITIVE_INFINITY),
      maxTicks: options.maxTicks === undefined ? Number.POSITIVE_INFINITY : wholeNumber('maxTicks', options.maxTicks),
    }
    this.#pace = new Pace(this.#options.ticksPerSecond)
  }

  get state(): SourceState {
    return this.#state
  }

  /** Last tick that the sink accepted. */
  get lastTick(): number | null {
    return this.#lastTick
  }

  /** Resolves at the end of the run: at `maxTicks`, or when the signal aborts. Rejects with the sink's error. */
  async run({ signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (this.#state !== 'STOPPED') throw new SimulationError('The source runs already. Wait for run() to end')
    this.#state = 'RUNNING'
    try {
      await this.#loop(signal)
    } catch (error) {
      if (!signal.aborted) throw error // A put that gave up because of the signal did what it was told.
    } finally {
      this.#state = 'STOPPED'
      this.#endSteps()
      this.resume() // Callers that wait for a pause need not wait any longer, and the next run starts afresh.
    }
  }

  /**
   * Resolves when the source has stopped between two ticks and the sink has accepted all of them; at once if it is
   * stopped.
   */
  async pause(): Promise<void> {
    this.#pause ??= { reached: Promise.withResolvers<void>(), over: Promise.withResolvers<void>() }
    this.#pace.wake()
    if (this.#state === 'RUNNING') await this.#pause.reached.promise
  }

  /** Maximum ticks per second from now on; null: no limit. */
  setSpeed(ticksPerSecond: number | null): void {
    this.#pace.change(positive('ticksPerSecond', ticksPerSecond ?? Number.POSITIVE_INFINITY))
  }

  /**
   * Pauses, and makes exactly this many ticks. Resolves with their number when the sink has accepted them; it is lower
   * only if the run ended, or was resumed meanwhile.
   */
  async step(ticks: number): Promise<number> {
    const steps = { ticks: wholeNumber('ticks', ticks), made: 0, done: Promise.withResolvers<number>() }
    if (this.#state === 'STOPPED') return 0
    this.pause().catch(() => undefined)
    this.#steps.push(steps)
    this.#stepAsked.resolve()
    return await steps.done.promise
  }

  resume(): void {
    this.#pause?.reached.resolve()
    this.#pause?.over.resolve()
    this.#pause = undefined
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { simulation, maxTicks } = this.#options
    const pace = this.#pace
    pace.restart()
    let sliceEnd = performance.now() + SLICE_MS
    if (simulation.tick === 0) await this.#handOver(signal)
    while (!signal.aborted) {
      // Checked again after a pause, because a signal may have ended it.
      if (this.#pause !== undefined) await this.#standStill(this.#pause, signal)
      else if (simulation.tick >= maxTicks) return
      else {
        const isDue = await pace.wait(signal)
        if (!isDue || signal.aborted || this.#pause !== undefined) continue
        simulation.step()
        pace.count()
        await this.#handOver(signal)
      }
      if (performance.now() >= sliceEnd) {
        await nextTurn()
        sliceEnd = performance.now() + SLICE_MS
      }
    }
  }

  async #handOver(signal: AbortSignal): Promise<void> {
    const { simulation, runId, samplingInterval, sink } = this.#options
    if (simulation.tick % samplingInterval !== 0 || signal.aborted) return
    const tick = simulation.snapshot(runId)
    await unlessAborted(sink.put(tick, signal), signal)
    this.#lastTick = tick.tick
  }

  async #standStill(pause: Pause, signal: AbortSignal): Promise<void> {
    this.#state = 'PAUSED'
    pause.reached.resolve()
    while (this.#pause === pause && !signal.aborted) {
      const [steps] = this.#steps
      if (steps === undefined) {
        this.#stepAsked = Promise.withResolvers<void>()
        await unlessAborted(Promise.race([pause.over.promise, this.#stepAsked.promise]), signal)
      } else await this.#makeOne(steps, signal)
    }
    this.#endSteps()
    this.#state = 'RUNNING'
    this.#pace.restart()
  }

  /** One tick, at no pace: whoever steps sees each. */
  async #makeOne(steps: Steps, signal: AbortSignal): Promise<void> {
    const { simulation, maxTicks } = this.#options
    if (steps.made < steps.ticks && simulation.tick < maxTicks) {
      simulation.step()
      await this.#handOver(signal)
      steps.made++
      await nextTurn()
    } else {
      this.#steps.shift()
      steps.done.resolve(steps.made)
    }
  }

  #endSteps(): void {
    for (const { made, done } of this.#steps) done.resolve(made)
    this.#steps = []
  }
}

type Steps = { readonly ticks: number; made: number; readonly done: PromiseWithResolvers<number> }
type Pause = { readonly reached: PromiseWithResolvers<void>; readonly over: PromiseWithResolvers<void> }

/** The promise, or a rejection as soon as the signal aborts: a full sink must not keep a run from ending. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    signal.throwIfAborted()
    await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
    promise.catch(() => {}) // Nobody waits for the error of an abandoned promise.
  }
}

function wholeNumber(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value
  throw new SimulationOptionError(name, value, 'a whole number from 1 on')
}

function positive(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw new SimulationOptionError(name, value, 'a number above 0')
}

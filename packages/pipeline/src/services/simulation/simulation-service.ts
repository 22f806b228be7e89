import { ConfigError, type Duration, type Logger } from 'tidemark'
import { encodeMetadata } from '../../contracts/metadata-codec.ts'
import { type EncodedTick, encodeTick } from '../../contracts/tick-codec.ts'
import { parseDuration } from '../../duration.ts'
import { wholeNumber } from '../../options.ts'
import type { Outlet } from '../../resources/bound-resources.ts'
import type { SimulationOptions } from '../../sources/simulation/settings.ts'
import { createSimulation, resumeSimulation, type Simulation } from '../../sources/simulation/simulation.ts'
import { SimulationSource } from '../../sources/simulation/simulation-source.ts'
import type { Storage } from '../../storage/storage.ts'
import { ServiceNotRunningError } from '../errors.ts'
import { Service, type ServiceContext, type ServiceSpeed, type StepReport } from '../service.ts'
import { StoredRanges } from '../stored-ranges.ts'
import { chooseRun, type RunChoice } from './choose-run.ts'
import type { RunFolder } from './run-folder.ts'

/** Encoded metadata of a run, which can be passed between threads. */
export type EncodedMetadata = {
  /** Id of the run. */
  readonly runId: string
  /** SimulationMetadata as bytes. */
  readonly bytes: Uint8Array
}

/** Options of a SimulationService. */
export type SimulationServiceOptions = {
  /** Options of the simulation. */
  readonly simulation: SimulationOptions
  /** Queue of ticks. */
  readonly ticks: Outlet<EncodedTick>
  /**
   * Queue of metadata. It receives the metadata of the run before the first tick, also when a run continues, because
   * it may not have been stored.
   */
  readonly metadata?: Outlet<EncodedMetadata>
  /**
   * Storage whose ticks are not produced again when a run continues. Without it, all ticks before the saved state are
   * assumed to be stored.
   */
  readonly storage?: Storage
  /** Folder of saved states. */
  readonly stateFolder: string
  /** Time between two saved states. */
  readonly saveInterval?: Duration
  /** Emit every Nth tick. */
  readonly samplingInterval?: number
  /** Maximum ticks per second. */
  readonly ticksPerSecond?: number
  /** Tick after which the run ends. */
  readonly maxTicks?: number
  /** Id of the run. */
  readonly runId?: string
  /** Whether a run continues. */
  readonly resume?: RunChoice['resume']
}

/**
 * The reference simulation as a source of the pipeline. Its state is saved periodically and at the end. After a
 * crash, a run continues from the newest state before the first tick that is not stored, and produces the same ticks
 * again.
 */
export class SimulationService extends Service {
  readonly #options: SimulationServiceOptions
  readonly #saveIntervalMs: number
  #run: RunFolder | undefined
  #lock: Disposable | undefined
  #simulation: Simulation | undefined
  #source: SimulationSource | undefined
  #stored: StoredRanges | undefined
  #savedTick = -1
  #savedAt = 0
  #saving: Promise<void> | undefined
  /** The tick of the restored state, if it was not emitted before. */
  #openTick: number | null = null
  #handing: Promise<void> = Promise.resolve()
  #lastHanded = -1
  #handedOver = 0
  /** Maximum ticks per second: as configured, until somebody changes it. */
  #ticksPerSecond: number | null
  /** One step after the other. */
  #stepping: Promise<unknown> = Promise.resolve()
  #passedOver = 0
  #bytes = 0

  constructor(name: string, options: SimulationServiceOptions, logger: Logger) {
    super(name, logger)
    this.#options = options
    this.#ticksPerSecond = options.ticksPerSecond ?? null
    this.#saveIntervalMs = parseDuration('saveInterval', options.saveInterval ?? '10s')
  }

  /** Id of the current or last run. */
  get runId(): string | undefined {
    return this.#run?.record.runId
  }

  protected override async prepare(): Promise<void> {
    const { simulation, samplingInterval = 1, stateFolder, runId, resume = 'newest', storage } = this.#options
    const choice = { folder: stateFolder, simulation, samplingInterval, runId, resume }
    const run = await chooseRun(choice)
    const lock = await run.lock()
    try {
      this.#stored = storage && (await StoredRanges.of(storage, run.record.runId, samplingInterval))
      this.#simulation = await this.#restore(run)
    } catch (error) {
      lock[Symbol.dispose]()
      throw error
    }
    this.#run = run
    this.#lock = lock
    // An open state is saved again once its tick is emitted.
    this.#savedTick = this.#openTick === null ? this.#simulation.tick : -1
    this.#savedAt = performance.now()
  }

  protected override async run(context: ServiceContext): Promise<void> {
    const run = this.#run as RunFolder
    const simulation = this.#simulation as Simulation
    const { runId, samplingInterval } = run.record
    const { maxTicks, metadata } = this.#options
    const bytes = encodeMetadata(simulation.metadata(runId, samplingInterval))
    const { signal } = context
    try {
      await metadata?.put({ runId, bytes }, { signal })
      if (this.#openTick === simulation.tick)
        await this.#handOver(encodeTick(simulation.snapshot(runId)), context, signal)
    } catch (error) {
      if (signal.aborted) return // The state it began from still exists.
      throw error
    }
    this.#source = new SimulationSource({
      simulation,
      runId,
      samplingInterval,
      sink: {
        put: async (tick, signal) => {
          this.#handing = this.#handOver(encodeTick(tick), context, signal)
          await this.#handing
        },
      },
      ...(this.#ticksPerSecond !== null && { ticksPerSecond: this.#ticksPerSecond }),
      ...(maxTicks !== undefined && { maxTicks }),
    })
    if (this.state === 'PAUSED') this.#holdSource()
    await this.#source.run({ signal })
    await this.#saving
    await this.#saveLast(run, simulation)
    context.succeeded('save state')
  }

  protected override async release(): Promise<void> {
    await this.#saving
    this.#source = undefined
    this.#lock?.[Symbol.dispose]()
    this.#lock = undefined
  }

  override pause(): void {
    super.pause()
    if (this.state === 'PAUSED') this.#holdSource()
  }

  override resume(): void {
    super.resume()
    this.#source?.resume()
  }

  protected override get speed(): ServiceSpeed {
    return { ticksPerSecond: this.#ticksPerSecond, configured: this.#options.ticksPerSecond ?? null }
  }

  override async setSpeed(ticksPerSecond: number | null): Promise<void> {
    if (ticksPerSecond !== null && !(ticksPerSecond > 0 && Number.isFinite(ticksPerSecond))) {
      throw new ConfigError('ticksPerSecond', ticksPerSecond, 'a number above 0, or null for no limit')
    }
    this.#source?.setSpeed(ticksPerSecond)
    this.#ticksPerSecond = ticksPerSecond
  }

  override async step(ticks: number): Promise<StepReport> {
    wholeNumber('ticks', ticks, { min: 1 })
    const [source, simulation] = [this.#source, this.#simulation]
    if (source === undefined || simulation === undefined) throw new ServiceNotRunningError(this.name, this.state)
    this.pause()
    const report = this.#stepping.then(async () => {
      // After a tick that is under way: that one does not count.
      await source.pause()
      const from = simulation.tick
      const made = await source.step(ticks)
      return { from, to: from + made, ticks: made }
    })
    this.#stepping = report.catch(() => undefined)
    return await report
  }

  protected override metrics(): Record<string, number> {
    return {
      tick: this.#simulation?.tick ?? 0,
      alive: this.#simulation?.alive ?? 0,
      births: this.#simulation?.births ?? 0,
      deaths: this.#simulation?.deaths ?? 0,
      ticks: this.#handedOver,
      bytes: this.#bytes,
      passedOver: this.#passedOver,
      savedTick: this.#savedTick,
      standsStill: Number(this.#source?.state === 'PAUSED'),
    }
  }

  /** From the newest state that leaves no tick out; from tick 0 if there is none, which gives the same ticks. */
  async #restore(run: RunFolder): Promise<Simulation> {
    const stored = this.#stored
    const latest = stored === undefined ? Number.POSITIVE_INFINITY : stored.wholeUpTo + run.record.samplingInterval
    for (const saved of await run.states()) {
      if (saved.tick > latest) continue
      try {
        const simulation = resumeSimulation(await run.readState(saved))
        const isSample = saved.tick % run.record.samplingInterval === 0
        const isMissing = stored === undefined ? saved.isOpen : isSample && !stored.has(saved.tick)
        // The source itself emits tick 0.
        this.#openTick = isMissing && saved.tick > 0 ? saved.tick : null
        return simulation
      } catch (error) {
        // An earlier one works as well, only slower.
        this.logger.warn({ service: this.name, ...saved, err: error }, "a saved state of the simulation can't be used")
      }
    }
    this.#openTick = null
    return createSimulation(run.record.settings)
  }

  async #handOver(tick: EncodedTick, context: ServiceContext, signal: AbortSignal): Promise<void> {
    if (this.#stored?.has(tick.tick)) {
      this.#lastHanded = tick.tick
      this.#passedOver++
    } else {
      const bytes = tick.bytes.length
      await this.#options.ticks.put(tick, { signal })
      this.#lastHanded = tick.tick
      this.#handedOver++
      this.#bytes += bytes
    }
    const isDue = performance.now() - this.#savedAt >= this.#saveIntervalMs
    if (isDue && this.#saving === undefined) this.#save(context)
  }

  /** The copy is made now, between two ticks; the file is written while the simulation continues. */
  #save(context: ServiceContext): void {
    const run = this.#run as RunFolder
    const { tick } = this.#simulation as Simulation
    const state = (this.#simulation as Simulation).saveState()
    this.#savedAt = performance.now()
    this.#saving = run
      .saveState({ tick, isOpen: false }, state)
      .then(() => {
        this.#savedTick = tick
        context.succeeded('save state')
      })
      .catch(error => context.report('save state', error))
      .finally(() => {
        this.#saving = undefined
      })
  }

  /** A put interrupted by the stop did not deliver its tick: the state records that, and the tick is emitted first. */
  async #saveLast(run: RunFolder, simulation: Simulation): Promise<void> {
    await this.#handing.catch(() => undefined) // The source has reported its error, or it is the stop.
    const { tick } = simulation
    if (tick === this.#savedTick) return
    const isSample = tick % run.record.samplingInterval === 0
    await run.saveState({ tick, isOpen: isSample && this.#lastHanded !== tick }, simulation.saveState())
    this.#savedTick = tick
  }

  /** The source pauses between two ticks by itself; nobody here has to wait for that. */
  #holdSource(): void {
    this.#source?.pause().catch(() => undefined)
  }
}

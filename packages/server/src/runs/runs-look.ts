import { setTimeout as delay } from 'node:timers/promises'
import type { Settings } from '../options.ts'
import { type RunFacts, readFacts } from './run-facts.ts'
import type { RunIndexes } from './run-indexes.ts'

/** A run that has grown within this time is live, whichever process produces it. */
const LIVE_MS = 15_000
/** Newest runs checked for growth, in addition to those known to grow. */
const NEWEST = 4
/** Maximum age of the facts of a live run, and of others. */
const LIVE_FACTS_MS = 1_000
const FACTS_MS = 10_000
const MOST_KNOWN = 1_000
const AT_ONCE = 4
/** Maximum time that the overview waits for the newest run. */
const PATIENCE_MS = 2_000

export type LiveRun = {
  readonly runId: string
  readonly live: boolean
  readonly tick: number
  readonly alive: number | null
}
type Growth = { readonly tick: number; readonly grewAt: number }
type Known = { readonly facts: Promise<RunFacts | undefined>; readonly at: number }

/** One read of the runs for all watchers. */
export class RunsLook {
  readonly #settings: Settings
  readonly #runs: RunIndexes
  readonly #growth = new Map<string, Growth>()
  readonly #known = new Map<string, Known>()
  #newest: RunFacts | null = null

  constructor(settings: Settings, runs: RunIndexes) {
    this.#settings = settings
    this.#runs = runs
  }

  /** The newest run, as last read. */
  get newest(): RunFacts | null {
    return this.#newest
  }

  /** The newest run, at most a second old if its index answers. */
  async readNewest(listed?: readonly string[]): Promise<RunFacts | null> {
    const reading = this.#readNewest(listed).catch(() => this.#newest)
    return await Promise.race([reading, delay(PATIENCE_MS, this.#newest, { ref: false })])
  }

  /** Facts of these runs, read a few at a time. Runs removed meanwhile are left out. */
  async facts(runIds: readonly string[]): Promise<RunFacts[]> {
    const found: (RunFacts | undefined)[] = []
    for (let at = 0; at < runIds.length; at += AT_ONCE) {
      found.push(...(await Promise.all(runIds.slice(at, at + AT_ONCE).map(runId => this.#facts(runId)))))
    }
    return found.filter(facts => facts !== undefined)
  }

  /** The newest run, all growing runs and the watched ones (`also`), and their progress. */
  async look(also: readonly string[] = []): Promise<readonly LiveRun[]> {
    const listed = await this.#runs.list()
    const own = this.#settings.pipeline?.liveRuns() ?? []
    const known = [...this.#growth.keys()].filter(runId => this.#isGrowing(runId))
    const looked = new Set(
      [...listed.slice(-NEWEST), ...own, ...known, ...also].filter(runId => listed.includes(runId)),
    )
    for (const runId of this.#growth.keys()) if (!looked.has(runId)) this.#growth.delete(runId)
    const found = await Promise.all([...looked].map(runId => this.#progress(runId)))
    await this.readNewest(listed)
    const told = new Set([...listed.slice(-1), ...also])
    return found.filter(run => run !== undefined).filter(({ runId, live }) => live || told.has(runId))
  }

  isLive(runId: string): boolean {
    return this.#isGrowing(runId) || (this.#settings.pipeline?.liveRuns().includes(runId) ?? false)
  }

  #isGrowing(runId: string): boolean {
    return performance.now() - (this.#growth.get(runId)?.grewAt ?? Number.NEGATIVE_INFINITY) < LIVE_MS
  }

  async #readNewest(listed?: readonly string[]): Promise<RunFacts | null> {
    const runId = (listed ?? (await this.#runs.list())).at(-1)
    this.#newest = (runId === undefined ? undefined : await this.#facts(runId)) ?? null
    return this.#newest
  }

  async #facts(runId: string): Promise<RunFacts | undefined> {
    const known = this.#known.get(runId)
    const maxAge = this.isLive(runId) ? LIVE_FACTS_MS : FACTS_MS
    if (known === undefined || performance.now() - known.at >= maxAge) this.#read(runId)
    const facts = await this.#known.get(runId)?.facts
    if (facts?.ticks) this.#note(runId, facts.ticks.last)
    return facts && { ...facts, live: this.isLive(runId) }
  }

  #read(runId: string): void {
    this.#known.delete(runId)
    this.#known.set(runId, { facts: readFacts(this.#runs, runId), at: performance.now() })
    for (const oldest of this.#known.keys()) if (this.#known.size > MOST_KNOWN) this.#known.delete(oldest)
  }

  /** undefined: nothing is indexed, or it can't be read, which its facts report. */
  async #progress(runId: string): Promise<LiveRun | undefined> {
    try {
      const { ticks, alive } = await this.#runs.use(runId, ({ index }) => index.progress())
      if (ticks === null) return undefined
      this.#note(runId, ticks.tickEnd)
      return { runId, live: this.isLive(runId), tick: ticks.tickEnd, alive }
    } catch (error) {
      this.#settings.logger.debug({ err: error, runId }, 'the progress of a run could not be read')
      return undefined
    }
  }

  /** Growth is known from the second read on. */
  #note(runId: string, tick: number): void {
    const before = this.#growth.get(runId)
    const grewAt = before === undefined ? Number.NEGATIVE_INFINITY : performance.now()
    if (before === undefined || tick > before.tick) this.#growth.set(runId, { tick, grewAt })
  }
}

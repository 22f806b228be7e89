import { setTimeout as delay } from 'node:timers/promises'
import type { Stats, Tidemark } from 'tidemark'
import type { HealthLook, Looked as HealthLooked } from '../health/health-look.ts'
import type { Settings } from '../options.ts'
import { attentionOf, MOST_ATTENTION } from './attention.ts'
import { fallingBehind } from './falling-behind.ts'
import { GraphRates } from './graph-live.ts'
import { GroupChanges } from './group-changes.ts'
import { RateHistory } from './rate-history.ts'
import type { Attention, GraphLive, TopicLive } from './shapes.ts'
import { withShownGroups } from './shown-groups.ts'
import { TopicsLive } from './topics-live.ts'

/**
 * One read per second while somebody watches, one in ten seconds while nobody does, so that newcomers find a history.
 */
const WATCHED_MS = 1_000
const UNWATCHED_MS = 10_000
/** Health checks cost more than reading positions. */
const HEALTH_MS = 5_000
/** A slow check rests for twice as long as it took, and no longer than this: somebody may be needed. */
const LONGEST_REST_MS = 15_000
/** Figures that require reading every log change slowly. */
const STORAGE_MS = 10_000
/** Reading takes at most a tenth of the time, however large the database is. */
const SHARE = 9

export type Looked = {
  readonly at: Date
  readonly stats: Stats
  /** With all their groups. */
  readonly topics: readonly TopicLive[]
  /** The same topics with the groups that an overview has room for. */
  readonly shown: readonly TopicLive[]
  readonly attention: readonly Attention[]
  readonly pipeline: GraphLive | null
}

/** One read of all topics for all watchers: its cost does not depend on their number. */
export class LiveLook {
  readonly history = new RateHistory()
  readonly groupChanges = new GroupChanges()
  readonly #settings: Settings
  readonly #health: HealthLook
  readonly #rates = new TopicsLive()
  readonly #flow = new GraphRates()
  readonly #watchers = new Set<(looked: Looked) => void>()
  readonly #ended = new AbortController()
  #wake = new AbortController()
  #latest: Looked | undefined
  #looking: Promise<Looked> | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #tookMs = 0
  #healthTookMs = 0
  /** The part of the read in progress that a health check took. */
  #checkedMs = 0
  #attention: readonly Attention[] = [NOT_LOOKED_YET]
  #healthAt = Number.NEGATIVE_INFINITY
  #isRunning = false

  constructor(settings: Settings, health: HealthLook) {
    this.#settings = settings
    this.#health = health
  }

  start(): void {
    const { topics } = this.#settings
    if (topics === undefined || this.#isRunning) return
    this.#isRunning = true
    void this.#run(topics)
  }

  /** Called after each read until the returned function is called. */
  watch(watcher: (looked: Looked) => void): () => void {
    this.#watchers.add(watcher)
    this.#wake.abort()
    return () => this.#watchers.delete(watcher)
  }

  /** The last result if it is fresh enough, or a new one. */
  async read(maxAgeMs = WATCHED_MS): Promise<Looked> {
    const { topics } = this.#settings
    if (topics === undefined)
      return { at: new Date(), stats: NOTHING, topics: [], shown: [], attention: [], pipeline: null }
    // By this process's clock: that of the database may be another. A read that takes long is not repeated for each caller.
    const isFresh = performance.now() - this.#readAt <= Math.max(maxAgeMs, Math.min(this.#tookMs * SHARE, HEALTH_MS))
    return this.#latest !== undefined && isFresh ? this.#latest : await this.#look(topics)
  }

  /** Does not wait for a read in progress: an unresponsive database would keep the server from closing. */
  close(): void {
    this.#ended.abort()
    this.#wake.abort()
  }

  async #run(topics: Tidemark): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      await this.#look(topics).catch(error => {
        this.#settings.logger.debug({ err: error }, 'the topics could not be looked at')
        this.#tellOfSilence()
      })
      const tookMs = this.#tookMs
      this.#wake = new AbortController()
      const rest = this.#watchers.size > 0 ? WATCHED_MS : UNWATCHED_MS
      const waiting = AbortSignal.any([signal, this.#wake.signal])
      await delay(Math.max(rest - tookMs, tookMs * SHARE), undefined, { signal: waiting, ref: false }).catch(
        () => undefined,
      )
    }
  }

  /** One at a time, shared by all who ask meanwhile. */
  #look(topics: Tidemark): Promise<Looked> {
    this.#looking ??= this.#lookNow(topics).finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookNow(topics: Tidemark): Promise<Looked> {
    const begun = performance.now()
    this.#checkedMs = 0
    try {
      return await this.#readAll(topics)
    } finally {
      this.#readAt = performance.now()
      // A health check has a rest of its own.
      this.#tookMs = this.#readAt - begun - this.#checkedMs
    }
  }

  async #readAll(topics: Tidemark): Promise<Looked> {
    // A health check reads all figures too, so it takes the place of this read: one statement a second, whatever is due.
    const checked = this.#isDue() ? await this.#checkHealth() : undefined
    const isRead = checked?.topics?.database.reachable === true
    if (checked !== undefined && !isRead) this.#tellOfSilence()
    const stats = await topics.admin.stats({ maxAge: isRead ? LONGEST_REST_MS : 0, storageMaxAge: STORAGE_MS })
    const { topics: live, figures } = this.#rates.add(stats)
    this.history.add(stats.takenAt.getTime(), figures)
    this.groupChanges.add(stats)
    if (checked !== undefined) this.#attention = this.#attentionOf(checked, live)
    const graph = this.#settings.pipeline?.graph()
    const pipeline = graph === undefined ? null : this.#flow.add(graph, live)
    const shown = withShownGroups(live, this.#settings.limits.overviewGroups)
    const looked: Looked = { at: stats.takenAt, stats, topics: live, shown, attention: this.#attention, pipeline }
    this.#latest = looked
    for (const watcher of this.#watchers) watcher(looked)
    return looked
  }

  /** The figures stay as they were, with their time; that they are old is reported at once. */
  #tellOfSilence(): void {
    const before = this.#latest
    this.#healthAt = Number.NEGATIVE_INFINITY
    if (before === undefined || before.attention[0] === SILENT) return
    const looked: Looked = { ...before, attention: [SILENT, ...before.attention] }
    this.#latest = looked
    for (const watcher of this.#watchers) watcher(looked)
  }

  #isDue = (): boolean =>
    performance.now() - this.#healthAt >= Math.max(HEALTH_MS, Math.min(this.#healthTookMs * 2, LONGEST_REST_MS))

  async #checkHealth(): Promise<HealthLooked> {
    const begun = performance.now()
    const checked = await this.#health.look()
    this.#healthAt = performance.now()
    this.#healthTookMs = this.#healthAt - begun
    this.#checkedMs = this.#healthTookMs
    return checked
  }

  #attentionOf({ topics: health, pipeline }: HealthLooked, topics: readonly TopicLive[]): readonly Attention[] {
    return [
      ...(health === undefined ? [SILENT] : []),
      ...attentionOf(health, pipeline, topics, fallingBehind(topics, this.history)),
    ].slice(0, MOST_ATTENTION)
  }
}

const NOT_LOOKED_YET: Attention = {
  severity: 'warning',
  kind: 'unknown',
  since: null,
  text: 'The health of the topics is not known yet',
}
const SILENT: Attention = {
  severity: 'bad',
  kind: 'database',
  since: null,
  text: 'The database of the topics does not answer, so the figures are old',
}
const NOTHING: Stats = { takenAt: new Date(0), topics: {}, jobs: {} }

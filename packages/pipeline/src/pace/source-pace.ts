import type { GroupHealth, Logger } from 'tidemark'
import type { Roles } from '../config/roles.ts'
import type { Allowance } from '../disk/allowance.ts'
import { type RunGroups, waitingIn } from '../progress/run-groups.ts'
import type { ServiceStatus } from '../services/service.ts'

export type SourcePaceOptions = {
  /** Batches that may wait for an indexer before sources are slowed; 0: any number. */
  readonly maxWaiting: number
  /** Milliseconds that a batch may wait unclaimed with others behind it; 0: any time. */
  readonly maxWaitingMs: number
  readonly roles: Roles
  readonly groups: Pick<RunGroups, 'health'>
  readonly services: () => readonly ServiceStatus[]
  /** Shared by the queues of the sources. */
  readonly allowance: Pick<Allowance, 'setItems'>
  readonly logger: Logger
  /** Milliseconds between two looks (default 1000). */
  readonly lookMs?: number | undefined
}

const LOOK_MS = 1_000
/** Sources get this share of what the indexer does meanwhile, so that it catches up and they never stand still. */
const SHARE = 0.5
/** A source near the limit is slowed and released every few seconds: that is one state, and reported once. */
const TELL_AGAIN_MS = 60_000
/** An indexer that waits for its flush has claimed what there is, but for what was announced just now. */
const UNCLAIMED = 2

/**
 * Slows the sources while a working indexer is too far behind. Batches are durable before they are indexed, so without
 * it a source that is faster than its indexers runs away from them for ever, and the page shows an ever older world.
 *
 * An indexer that does not work (paused, stopped, failed, or waiting for its database) slows nobody: it catches up when
 * it works again.
 */
export class SourcePace {
  readonly #options: SourcePaceOptions
  readonly #indexed = new Map<string, number>()
  #slowedBy: string | null = null
  #toldAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: SourcePaceOptions) {
    this.#options = options
  }

  /** Indexer for which the sources are slowed, or null. */
  get slowedBy(): string | null {
    return this.#slowedBy
  }

  start(): void {
    const { maxWaiting, maxWaitingMs, roles, lookMs = LOOK_MS } = this.#options
    if ((maxWaiting === 0 && maxWaitingMs === 0) || roles.indexers.length === 0) return
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined
      })
    }, lookMs)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
    this.#options.allowance.setItems(Number.POSITIVE_INFINITY)
  }

  async #look(): Promise<void> {
    const { groups, services, roles, allowance, logger } = this.#options
    try {
      // undefined: the topics do not answer, so nothing is announced or indexed, and the last decision stands.
      const health = await groups.health()
      if (health === undefined) return
      const status = services()
      const behind = roles.indexers.flatMap(({ name, group }) => {
        const indexed = this.#indexedSince(name, status)
        const isWorking = status.find(each => each.name === name)?.state === 'RUNNING'
        const found = health.find(each => each.group === group)
        if (!isWorking || found === undefined || !this.#isBehind(found)) return []
        return [{ name, waiting: waitingIn(found), indexed }]
      })
      const slowest = behind.reduce<(typeof behind)[number] | undefined>(
        (least, each) => (least === undefined || each.indexed < least.indexed ? each : least),
        undefined,
      )
      allowance.setItems(slowest === undefined ? Number.POSITIVE_INFINITY : Math.ceil(slowest.indexed * SHARE))
      this.#tell(slowest)
    } catch (error) {
      logger.warn({ err: error }, 'the lag of the indexers could not be read')
    }
  }

  /** Fifty batches of large ticks are a few seconds of work, and fifty of small ones minutes. */
  #isBehind(group: GroupHealth): boolean {
    const { maxWaiting, maxWaitingMs } = this.#options
    if (maxWaiting > 0 && waitingIn(group) > maxWaiting) return true
    return maxWaitingMs > 0 && group.lagMessages > UNCLAIMED && group.lagMs > maxWaitingMs
  }

  /** Ticks since the last look. */
  #indexedSince(name: string, status: readonly ServiceStatus[]): number {
    const now = status.find(each => each.name === name)?.metrics.ticksIndexed ?? 0
    const before = this.#indexed.get(name) ?? now
    this.#indexed.set(name, now)
    return Math.max(0, now - before)
  }

  #tell(slowest: { readonly name: string; readonly waiting: number } | undefined): void {
    const wasSlowed = this.#slowedBy !== null
    this.#slowedBy = slowest?.name ?? null
    if (slowest === undefined || wasSlowed) return
    const now = performance.now()
    const isNews = now - this.#toldAt > TELL_AGAIN_MS
    this.#toldAt = now
    const fields = { indexer: slowest.name, waitingBatches: slowest.waiting }
    this.#options.logger[isNews ? 'info' : 'debug'](
      fields,
      'an indexer is behind: the source is slowed until it catches up',
    )
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import {
  type GroupLane,
  type Lanes,
  type Logger,
  type Stats,
  type Tidemark,
  TopicNotFoundError,
  type TopicStats,
} from 'tidemark'
import { MOST_GROUPS } from './overview.ts'

/** Four looks per second at each topic that somebody watches, however many do. */
const LOOK_MS = 250
/** The fourth is the read of all topics, which comes once a second. While it is late, the topic is read more slowly. */
const READS_BETWEEN = 3
/** Reading takes at most a quarter of the time, however many groups the topic has. */
const SHARE = 3
/** The parts of the log change slowly, and are most of what is sent. */
const BUCKETS_MS = 5_000
const BUCKETS = 200

/** A topic in detail: all of it to a new reader, then the groups that have changed. */
type TopicDetail = Omit<Lanes, 'buckets'> & {
  readonly topic: string
  /** Parts of the log; null if they are to be kept as they are. */
  readonly buckets: Lanes['buckets'] | null
  /** Whether `groups` are all groups of the topic, or those that have changed. */
  readonly whole: boolean
}

type Reader = (detail: TopicDetail) => void

/** Topics that somebody looks at, each read once for all of them. */
export class TopicDetails {
  readonly #watched = new Map<string, Watched>()

  /** Takes the figures from a read of all topics, in place of a read of its own. */
  add({ takenAt, topics }: Stats): void {
    for (const [topic, watched] of this.#watched) {
      const stats = topics[topic]
      if (stats !== undefined) watched.addFigures(takenAt, stats)
    }
  }

  /** Sends the topic in detail until the returned function is called. A topic that does not exist yet is waited for. */
  watch(topics: Tidemark, logger: Logger, topic: string, reader: Reader): () => void {
    const watched = this.#watched.get(topic) ?? new Watched(topics, logger, topic)
    this.#watched.set(topic, watched)
    watched.add(reader)
    return () => {
      watched.remove(reader)
      if (watched.isIdle && this.#watched.get(topic) === watched) this.#watched.delete(topic)
    }
  }
}

class Watched {
  readonly #topics: Tidemark
  readonly #logger: Logger
  readonly #topic: string
  readonly #readers = new Set<Reader>()
  readonly #newcomers = new Set<Reader>()
  #ended = new AbortController()
  /** Ends the rest before the next read: it was not needed. */
  #spared = new AbortController()
  #reads = 0
  /** As last told, with all groups. */
  #latest: Lanes | undefined
  /** The same by group, to be compared. */
  #texts: ReadonlyMap<string, string> = new Map()
  #bucketsAt = Number.NEGATIVE_INFINITY

  constructor(topics: Tidemark, logger: Logger, topic: string) {
    this.#topics = topics
    this.#logger = logger
    this.#topic = topic
  }

  get isIdle(): boolean {
    return this.#readers.size === 0
  }

  add(reader: Reader): void {
    const isFirst = this.isIdle
    this.#readers.add(reader)
    this.#newcomers.add(reader)
    if (!isFirst) return
    this.#ended = new AbortController()
    void this.#run(this.#ended.signal)
  }

  remove(reader: Reader): void {
    this.#readers.delete(reader)
    this.#newcomers.delete(reader)
    if (this.isIdle) this.#ended.abort()
  }

  /** What each group holds stays as it was read last: it is a quarter of a second old. */
  addFigures(takenAt: Date, { firstId, lastId, groups }: TopicStats): void {
    const before = this.#latest
    const isNewer = before !== undefined && takenAt > before.takenAt
    // A group more or less changes the lanes themselves.
    if (!isNewer || !before.groups.every(({ group }) => groups[group] !== undefined)) return
    this.#reads = 0
    this.#spared.abort()
    const first = firstId
    const last = lastId === 0 ? null : lastId
    this.#tell({ ...before, takenAt, first, last, groups: before.groups.map(lane => withFigures(lane, groups)) }, false)
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const begun = performance.now()
      await this.#look(signal).catch(error => {
        if (!(error instanceof TopicNotFoundError)) this.#logger.debug({ err: error }, 'a topic could not be read')
      })
      const tookMs = performance.now() - begun
      this.#reads++
      await this.#rest(Math.max(LOOK_MS - tookMs, tookMs * SHARE), signal)
    }
  }

  /** Begins again whenever the figures have come from elsewhere. */
  async #rest(ms: number, ended: AbortSignal): Promise<void> {
    do {
      this.#spared = new AbortController()
      const rest = this.#reads < READS_BETWEEN ? ms : ms + LOOK_MS
      const signal = AbortSignal.any([ended, this.#spared.signal])
      await delay(rest, undefined, { signal, ref: false }).catch(() => undefined)
    } while (this.#spared.signal.aborted && !ended.aborted)
  }

  async #look(signal: AbortSignal): Promise<void> {
    const withBuckets = this.#newcomers.size > 0 || performance.now() - this.#bucketsAt >= BUCKETS_MS
    const lanes = await this.#topics.admin.lanes(this.#topic, { buckets: withBuckets ? BUCKETS : 0 })
    if (signal.aborted) return
    if (withBuckets) this.#bucketsAt = performance.now()
    this.#tell({ ...lanes, groups: lanes.groups.slice(0, MOST_GROUPS) }, withBuckets)
  }

  #tell(lanes: Lanes, withBuckets: boolean): void {
    const before = this.#texts
    // The age of what waits grows all the time.
    const now = new Map(lanes.groups.map(lane => [lane.group, JSON.stringify({ ...lane, lagMs: 0 })]))
    const isSame = now.size === before.size && [...now.keys()].every(group => before.has(group))
    const changed = lanes.groups.filter(({ group }) => before.get(group) !== now.get(group))
    this.#latest = lanes
    this.#texts = now
    const buckets = withBuckets ? lanes.buckets : null
    const whole: TopicDetail = { ...lanes, topic: this.#topic, buckets, whole: true }
    // A group that is gone is only told by the whole list.
    const news = isSame ? { ...whole, groups: changed, whole: false } : whole
    for (const reader of this.#readers) {
      if (!this.#newcomers.has(reader)) reader(news)
      // Without the parts of the log, a newcomer has nothing to draw.
      else if (withBuckets) {
        this.#newcomers.delete(reader)
        reader(whole)
      }
    }
  }
}

function withFigures(lane: GroupLane, groups: TopicStats['groups']): GroupLane {
  const found = groups[lane.group]
  if (found === undefined) return lane
  const { status, healthy, cursor, watermark, lagMessages, lagMs, inFlight, retries, deadLetters } = found
  const figures = { status, healthy, cursor, watermark, lagMessages, lagMs, inFlight }
  return { ...lane, ...figures, retryCount: retries, deadLetterCount: deadLetters }
}

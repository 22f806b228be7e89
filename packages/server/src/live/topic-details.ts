import { setTimeout as delay } from 'node:timers/promises'
import { type Lanes, type Logger, type Tidemark, TopicNotFoundError } from 'tidemark'

import { MOST_GROUPS } from './overview.ts'

/** Four reads per second of each topic that somebody looks at, however many do. */
const LOOK_MS = 250
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
  #before = new Map<string, string>()
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

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const begun = performance.now()
      await this.#look(signal).catch(error => {
        if (!(error instanceof TopicNotFoundError)) this.#logger.debug({ err: error }, 'a topic could not be read')
      })
      const tookMs = performance.now() - begun
      const rest = Math.max(LOOK_MS - tookMs, tookMs * SHARE)
      await delay(rest, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const withBuckets = this.#newcomers.size > 0 || performance.now() - this.#bucketsAt >= BUCKETS_MS
    const all = await this.#topics.admin.lanes(this.#topic, { buckets: withBuckets ? BUCKETS : 0 })
    const lanes = { ...all, groups: all.groups.slice(0, MOST_GROUPS) }
    if (signal.aborted) return
    if (withBuckets) this.#bucketsAt = performance.now()
    const now = new Map(lanes.groups.map(group => [group.group, JSON.stringify({ ...group, lagMs: 0 })]))
    const isSame = now.size === this.#before.size && [...now.keys()].every(group => this.#before.has(group))
    const changed = lanes.groups.filter(({ group }) => this.#before.get(group) !== now.get(group))
    this.#before = now
    const whole: TopicDetail = {
      ...lanes,
      topic: this.#topic,
      buckets: withBuckets ? lanes.buckets : null,
      whole: true,
    }
    // A group that is gone is only told by the whole list.
    const news = isSame ? { ...whole, groups: changed, whole: false } : whole
    for (const reader of this.#readers) reader(this.#newcomers.has(reader) ? whole : news)
    this.#newcomers.clear()
  }
}

import type { GroupHealth, Stats, TopicStats } from 'tidemark'
import type { Figures } from './rate-history.ts'
import type { GroupLive, GroupTotals, TopicLive } from './shapes.ts'

/** Rates are differences of positions over this time: shorter ones jump, longer ones lag behind. */
const RATE_WINDOW_MS = 5_000

type Sample = { readonly at: number; readonly topics: ReadonlyMap<string, Figures> }

/** Reads the positions of all topics and groups, and computes rates that cover every process on the database. */
export class TopicsLive {
  readonly #samples: Sample[] = []

  /** Adds a read; `figures` returns its results, by `topic:a` and `group:a/b`. */
  add(stats: Stats): { topics: readonly TopicLive[]; figures: Sample['topics'] } {
    const at = stats.takenAt.getTime()
    const figures = figuresOf(stats)
    while (this.#samples.length > 1 && (this.#samples[1]?.at ?? at) <= at - RATE_WINDOW_MS) this.#samples.shift()
    const before = this.#samples[0]
    this.#samples.push({ at, topics: figures })
    const rateOf = (name: string, counter: 'published' | 'consumed'): number =>
      rate(figures.get(name)?.[counter], before?.topics.get(name)?.[counter], at - (before?.at ?? at))
    const topics = Object.entries(stats.topics).map(([topic, found]) => topicLive(topic, found, rateOf))
    return { topics, figures }
  }
}

function topicLive(
  topic: string,
  { config, firstId, lastId, retained, bytes, oldestAt, groups }: TopicStats,
  rateOf: (name: string, counter: 'published' | 'consumed') => number,
): TopicLive {
  const all = Object.values(groups)
  return {
    topic,
    config,
    first: firstId,
    last: lastId === 0 ? null : lastId,
    kept: retained,
    bytes,
    oldestAt,
    publishedPerSecond: rateOf(`topic:${topic}`, 'published'),
    groups: all.map(group => groupLive(group, rateOf(`group:${topic}/${group.group}`, 'consumed'))),
    totals: totalsOf(all),
  }
}

function totalsOf(groups: readonly GroupHealth[]): GroupTotals {
  const totals = { groups: groups.length, lagMessages: 0, deadLetters: 0, late: 0, paused: 0, dead: 0, cancelled: 0 }
  for (const { status, healthy, lagMessages, deadLetters } of groups) {
    totals.lagMessages += lagMessages
    totals.deadLetters += deadLetters
    if (status === 'PAUSED') totals.paused++
    else if (status === 'DEAD') totals.dead++
    else if (status === 'CANCELLED') totals.cancelled++
    else if (!healthy) totals.late++
  }
  return totals
}

const groupLive = (group: GroupHealth, consumedPerSecond: number): GroupLive => ({
  group: group.group,
  status: group.status,
  healthy: group.healthy,
  cursor: group.cursor,
  watermark: group.watermark,
  lagMessages: group.lagMessages,
  lagMs: group.lagMs,
  inFlight: group.inFlight,
  retries: group.retries,
  deadLetters: group.deadLetters,
  consumedPerSecond,
  sinceHeartbeatMs: group.sinceHeartbeatMs,
  members: group.consumers,
  backfill: group.backfill,
})

/** Topics first: with more series than the history keeps, each topic has one. */
function figuresOf({ topics }: Stats): Map<string, Figures> {
  const figures = new Map<string, Figures>()
  for (const [topic, { messagesPublished }] of Object.entries(topics)) {
    figures.set(`topic:${topic}`, { published: messagesPublished })
  }
  for (const [topic, { messagesPublished, groups }] of Object.entries(topics)) {
    for (const { group, lagMessages } of Object.values(groups)) {
      figures.set(`group:${topic}/${group}`, { consumed: messagesPublished - lagMessages, lag: lagMessages })
    }
  }
  return figures
}

/** A counter that fell was reset or recreated. */
const rate = (now = 0, before = now, elapsedMs: number): number =>
  elapsedMs <= 0 || now < before ? 0 : ((now - before) / elapsedMs) * 1_000

import type { Looked } from './live-look.ts'
import { MOST_GROUPS } from './overview.ts'
import type { Attention, GroupLive, TopicLive } from './shapes.ts'

/** Rows of numbers, only of what has changed: fifty groups at four reads a second stay below 10 kB/s. */
export type LiveRows = {
  readonly at: Date
  readonly topics: { readonly [topic: string]: readonly (number | null)[] }
  readonly groups: { readonly [topicAndGroup: string]: readonly (number | null)[] }
  /** For each edge of the pipeline, in the order of the snapshot: perSecond, backlog, fill. */
  readonly edges: readonly (readonly (number | null)[])[]
  /** All of it, if anything needs attention that did not before, or no longer does. */
  readonly attention?: readonly Attention[]
}

/** Compares each read with the previous one. */
export class LiveChanges {
  #rows = new Map<string, string>()
  #shapes = new Map<string, string>()
  #attention = ''

  /**
   * `isOther`: topics, groups or states have changed, so a new snapshot is needed. `detailed`: topics that somebody sees with all
   * their groups.
   */
  compare(
    { at, topics, shown, attention, pipeline }: Looked,
    detailed: ReadonlySet<string>,
  ): { readonly isOther: boolean; readonly rows: LiveRows } {
    const isOther = this.#isOther({ topics, shown, pipeline }, detailed)
    const before = this.#rows
    this.#rows = new Map()
    const rows = { at, topics: {} as Record<string, number[]>, groups: {} as Record<string, number[]> }
    const put = (name: string, row: (number | null)[], changed: (row: number[]) => void): void => {
      const text = row.join()
      this.#rows.set(name, text)
      if (before.get(name) !== text) changed(row as number[])
    }
    for (const [index, topic] of shown.entries()) {
      put(`topic:${topic.topic}`, rowOf(topic), row => {
        rows.topics[topic.topic] = row
      })
      for (const group of groupsOf(topic, topics[index], detailed)) {
        const name = `${topic.topic}/${group.group}`
        put(name, groupRow(group), row => {
          rows.groups[name] = row
        })
      }
    }
    const needed = JSON.stringify(attention)
    const isNew = needed !== this.#attention
    this.#attention = needed
    return { isOther, rows: { ...rows, edges: edgesOf(pipeline), ...(isNew && { attention }) } }
  }

  /** Somebody who begins or ends to look at a topic in detail changes nothing for the others. */
  #isOther(
    { topics, shown, pipeline }: Pick<Looked, 'topics' | 'shown' | 'pipeline'>,
    detailed: ReadonlySet<string>,
  ): boolean {
    const before = this.#shapes
    this.#shapes = new Map([
      ['', JSON.stringify([shown.map(({ topic }) => topic), pipeline?.nodes])],
      ...shown.map(topic => [`topic:${topic.topic}`, shapeOf(topic)] as const),
      ...topics
        .filter(({ topic }) => detailed.has(topic))
        .map(topic => [`detail:${topic.topic}`, shapeOf(topic)] as const),
    ])
    return [...this.#shapes].some(([name, shape]) =>
      name.startsWith('detail:') ? (before.get(name) ?? shape) !== shape : before.get(name) !== shape,
    )
  }
}

const groupsOf = (
  shown: TopicLive,
  whole: TopicLive | undefined,
  detailed: ReadonlySet<string>,
): readonly GroupLive[] =>
  whole !== undefined && detailed.has(shown.topic) ? whole.groups.slice(0, MOST_GROUPS) : shown.groups

const edgesOf = (pipeline: Looked['pipeline']): (number | null)[][] =>
  (pipeline?.edges ?? []).map(({ perSecond, backlog, fill }) => [
    perSecond === null ? null : rounded(perSecond),
    backlog,
    fill === null ? null : rounded(fill * 10) / 10,
  ])

/** Lags and dead letters are in the rows. */
const shapeOf = ({
  topic,
  config,
  groups,
  totals: { lagMessages: _, deadLetters: __, ...states },
}: TopicLive): string =>
  JSON.stringify([
    topic,
    config,
    states,
    groups.map(({ group, status, healthy, members, backfill }) => [group, status, healthy, members, backfill?.status]),
  ])

const rowOf = ({ last, publishedPerSecond, kept, totals }: TopicLive): (number | null)[] => [
  last,
  rounded(publishedPerSecond),
  kept,
  totals.lagMessages,
  totals.deadLetters,
]

const groupRow = (group: GroupLive): (number | null)[] => [
  group.cursor,
  group.lagMessages,
  Math.round(group.lagMs),
  group.inFlight,
  group.retries,
  group.deadLetters,
  rounded(group.consumedPerSecond),
  Math.round(group.sinceHeartbeatMs / 1_000) * 1_000,
]

const rounded = (rate: number): number => Math.round(rate * 10) / 10

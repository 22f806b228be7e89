import type { Looked } from './live-look.ts'
import type { GroupLive, TopicLive } from './shapes.ts'

/** Rows of numbers, only of what has changed: fifty groups at four reads a second stay below 10 kB/s. */
export type LiveRows = {
  readonly at: Date
  readonly topics: { readonly [topic: string]: readonly (number | null)[] }
  readonly groups: { readonly [topicAndGroup: string]: readonly (number | null)[] }
  /** For each edge of the pipeline, in the order of the snapshot: perSecond, backlog, fill. */
  readonly edges: readonly (readonly (number | null)[])[]
}

/** Compares each read with the previous one. */
export class LiveChanges {
  #before = new Map<string, string>()
  #shape = ''

  /** `isOther`: topics, groups, states or attention have changed, so a new snapshot is needed. */
  compare({ at, topics, attention, pipeline }: Looked): { readonly isOther: boolean; readonly rows: LiveRows } {
    const shape = JSON.stringify([topics.map(shapeOf), attention, pipeline?.nodes])
    const isOther = shape !== this.#shape
    this.#shape = shape
    const now = new Map<string, string>()
    const edges = (pipeline?.edges ?? []).map(({ perSecond, backlog, fill }) => [
      perSecond === null ? null : rounded(perSecond),
      backlog,
      fill === null ? null : rounded(fill * 10) / 10,
    ])
    const rows = { at, topics: {} as Record<string, number[]>, groups: {} as Record<string, number[]>, edges }
    for (const topic of topics) {
      this.#put(now, `topic:${topic.topic}`, rowOf(topic), row => {
        rows.topics[topic.topic] = row
      })
      for (const group of topic.groups) {
        const name = `${topic.topic}/${group.group}`
        this.#put(now, name, groupRow(group), row => {
          rows.groups[name] = row
        })
      }
    }
    this.#before = now
    return { isOther, rows }
  }

  #put(now: Map<string, string>, name: string, row: (number | null)[], changed: (row: number[]) => void): void {
    const text = row.join()
    now.set(name, text)
    if (this.#before.get(name) !== text) changed(row as number[])
  }
}

const shapeOf = ({ topic, config, groups }: TopicLive): unknown => [
  topic,
  config,
  groups.map(({ group, status, healthy, members, backfill }) => [group, status, healthy, members, backfill?.status]),
]

const rowOf = ({ last, publishedPerSecond, kept }: TopicLive): (number | null)[] => [
  last,
  rounded(publishedPerSecond),
  kept,
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

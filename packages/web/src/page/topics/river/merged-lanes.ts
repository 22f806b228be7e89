import type { GroupLane, GroupLive, Lanes, TopicDetail } from '../../shapes.ts'

/** The lanes after an event, which has only what changed; undefined until all of them are known. */
export function afterEvent(
  before: Lanes | undefined,
  { topic: _, whole, buckets, groups, ...event }: TopicDetail,
): Lanes | undefined {
  if (!whole && before === undefined) return undefined
  const changed = new Map(groups.map(each => [each.group, each]))
  return {
    ...event,
    buckets: buckets ?? grown(before, event.last),
    groups: whole ? groups : (before?.groups ?? []).map(each => changed.get(each.group) ?? each),
  }
}

/** Parts of the log come every few seconds. Until then, what was published meanwhile belongs to the time in which it came. */
function grown(before: Lanes | undefined, last: number | null): Lanes['buckets'] {
  const buckets = before?.buckets ?? []
  if (before === undefined || last === null || last === before.last) return buckets
  return [...buckets, { position: (before.last ?? 0) + 1, at: before.takenAt, count: last - (before.last ?? 0) }]
}

/** The zoomed part keeps its own parts of the log and its marks; where the groups stand comes live. */
export function zoomedLanes(loaded: Lanes, live: Lanes | undefined): Lanes {
  const now = new Map(live?.groups.map(each => [each.group, each]))
  return {
    ...loaded,
    last: live?.last ?? loaded.last,
    groups: loaded.groups.map(each => {
      const found = now.get(each.group)
      return found === undefined ? each : { ...found, retries: each.retries, deadLetters: each.deadLetters }
    }),
  }
}

/** The figures of a group as its lane has them: four times a second instead of once. */
export function withLane(group: GroupLive, lane: GroupLane | undefined): GroupLive {
  if (lane === undefined) return group
  const { status, healthy, cursor, watermark, lagMessages, lagMs, inFlight, retryCount, deadLetterCount } = lane
  const figures = { status, healthy, cursor, watermark, lagMessages, lagMs, inFlight }
  return { ...group, ...figures, retries: retryCount, deadLetters: deadLetterCount }
}

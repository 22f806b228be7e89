import type { GroupLive, TopicLive } from './shapes.ts'

/**
 * The topics, each with as many of its groups as there is room for, `most` in all. With all of them, 500 topics of 64
 * groups each were 7 MB. Each topic has the ones that need attention first, and the totals of all.
 */
export function withShownGroups(topics: readonly TopicLive[], most: number): readonly TopicLive[] {
  const share = shareOf(
    topics.map(({ groups }) => groups.length),
    most,
  )
  return topics.map(topic =>
    topic.groups.length <= share ? topic : { ...topic, groups: mostUrgent(topic.groups, share) },
  )
}

/** The largest number of groups per topic that keeps all within `most`, and at least one. */
function shareOf(counts: readonly number[], most: number): number {
  const sorted = counts.toSorted((one, other) => one - other)
  let left = most
  for (const [index, count] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index))
    if (count > share) return Math.max(1, share)
    left -= count
  }
  return Number.POSITIVE_INFINITY
}

/**
 * In the order of the list. A lag counts by its order of magnitude: groups that swapped places with every message would
 * send the whole overview again.
 */
function mostUrgent(groups: readonly GroupLive[], most: number): readonly GroupLive[] {
  const urgent = groups
    .map((group, index) => ({ group, index, urgency: urgencyOf(group) }))
    .sort((one, other) => other.urgency - one.urgency || one.index - other.index)
    .slice(0, most)
  return urgent.sort((one, other) => one.index - other.index).map(({ group }) => group)
}

const STATES = { DEAD: 5, ACTIVE: 2, PAUSED: 3, CANCELLED: 0 } as const

function urgencyOf({ status, healthy, deadLetters, lagMessages }: GroupLive): number {
  const state = status === 'ACTIVE' && !healthy ? 4 : STATES[status]
  return state * 100 + (deadLetters > 0 ? 50 : 0) + Math.floor(Math.log10(lagMessages + 1))
}

import { setTimeout as delay } from 'node:timers/promises'
import { type GroupDescription, type Tidemark, TopicNotFoundError } from 'tidemark'
import type { Violation } from './check/violation.ts'

/**
 * Without any progress, which a busy machine only takes longer for: more than a transaction that a silent connection left
 * open (one minute) and a lease hold a group up.
 */
const STUCK_MS = 150_000

/** Waits until no group has anything left, and returns what is stuck. A group that a killed operator paused is resumed. */
export async function drain(tm: Tidemark, topics: readonly string[], signal: AbortSignal): Promise<Violation[]> {
  let least = Number.POSITIVE_INFINITY
  let end = 0
  for (;;) {
    const unfinished = (await Promise.all(topics.map(topic => unfinishedOf(tm, topic)))).flat()
    if (unfinished.length === 0) return []
    const left = unfinished.reduce((sum, each) => sum + each.left, 0)
    if (left < least) [least, end] = [left, performance.now() + STUCK_MS]
    if (performance.now() > end) return unfinished.map(({ what }) => ({ rule: 'stuck', what }))
    await delay(200, undefined, { signal })
  }
}

type Unfinished = { readonly what: string; readonly left: number }

async function unfinishedOf(tm: Tidemark, topic: string): Promise<Unfinished[]> {
  const groups = await groupsOf(tm, topic)
  if (groups === undefined) return [{ what: `topic ${topic} is not there`, left: Number.MAX_SAFE_INTEGER }]
  for (const { group, status } of groups) if (status === 'PAUSED') await tm.admin.resumeGroup(topic, group)
  return groups
    .filter(group => group.status !== 'ACTIVE' || leftOf(group) > 0)
    .map(group => ({ what: describe(topic, group), left: 1 + leftOf(group) }))
}

const leftOf = ({ backlog, inFlight, retries }: GroupDescription): number => backlog + inFlight + retries

const describe = (topic: string, { group, status, backlog, inFlight, retries }: GroupDescription): string =>
  `group '${group}' of ${topic} is ${status} with ${backlog} waiting, ${inFlight} in flight and ${retries} retries`

/** A namespace that was dropped a moment ago is made again by its processes. */
async function groupsOf(tm: Tidemark, topic: string): Promise<readonly GroupDescription[] | undefined> {
  try {
    const { groups } = await tm.admin.describeTopic(topic)
    return groups.length === 0 ? undefined : groups
  } catch (error) {
    if (error instanceof TopicNotFoundError) return undefined
    throw error
  }
}

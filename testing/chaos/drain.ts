import { setTimeout as delay } from 'node:timers/promises'
import { type GroupDescription, type Tidemark, TopicNotFoundError } from 'tidemark'
import type { Violation } from './check/violation.ts'

const DRAIN_MS = 90_000

/** Waits until no group has anything left, and returns what is stuck. A group that a killed operator paused is resumed. */
export async function drain(tm: Tidemark, topics: readonly string[], signal: AbortSignal): Promise<Violation[]> {
  const end = performance.now() + DRAIN_MS
  for (;;) {
    const unfinished = (await Promise.all(topics.map(topic => unfinishedOf(tm, topic)))).flat()
    if (unfinished.length === 0) return []
    if (performance.now() > end) return unfinished.map(what => ({ rule: 'stuck', what }))
    await delay(200, undefined, { signal })
  }
}

async function unfinishedOf(tm: Tidemark, topic: string): Promise<string[]> {
  const groups = await groupsOf(tm, topic)
  if (groups === undefined) return [`topic ${topic} is not there`]
  for (const { group, status } of groups) if (status === 'PAUSED') await tm.admin.resumeGroup(topic, group)
  return groups.filter(group => !isDone(group)).map(group => describe(topic, group))
}

const isDone = ({ status, backlog, inFlight, retries }: GroupDescription): boolean =>
  status === 'ACTIVE' && backlog + inFlight + retries === 0

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

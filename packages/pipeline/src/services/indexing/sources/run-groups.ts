import type { Reader, Tidemark } from 'tidemark'
import type { TopicEnvelope } from '../../../contracts/gen/tidemark/pipeline/v1/notification_pb.ts'
import { isEnvironmentFault } from '../../../faults.ts'
import { isRunId, parseRunId } from '../../../run-id.ts'
import type { ServiceContext } from '../../service.ts'

/** How far apart the clocks of a simulation and of the topics' database may be. */
const CLOCK_SKEW_MS = 3_600_000

const groupOf = (group: string, runId: string): string => `${group}.${runId}`

/**
 * A group of its own for each run: the topic carries all runs, and what one run's indexer passes over must still reach
 * another's. Nothing of a run is announced before it starts, so the group need not begin with the topic.
 */
export function openRunReader(tidemark: Tidemark, topic: string, group: string, runId: string): Reader<TopicEnvelope> {
  const { startedAt } = parseRunId(runId)
  const timestamp = Math.max(0, Math.min(startedAt, Date.now()) - CLOCK_SKEW_MS)
  return tidemark.reader<TopicEnvelope>(topic, { group: groupOf(group, runId), from: { timestamp } })
}

/**
 * Groups of runs before this one that nobody is at any more (no heartbeat for so long that they count as dead) go. Should
 * such a run go on after all, its group begins anew: the topic keeps every announcement, and what is in the index
 * already is not read again.
 */
export async function removeReplacedGroups(
  tidemark: Tidemark,
  topic: string,
  group: string,
  runId: string,
  { note }: Pick<ServiceContext, 'note'>,
): Promise<void> {
  try {
    for (const { group: name, status } of await tidemark.admin.groups(topic)) {
      const ofRun = name.startsWith(`${group}.`) ? name.slice(group.length + 1) : ''
      if (status === 'DEAD' && isRunId(ofRun) && ofRun < runId) await tidemark.admin.removeGroup(topic, name)
    }
  } catch (error) {
    if (isEnvironmentFault(error)) throw error
    note('remove groups of earlier runs', error)
  }
}

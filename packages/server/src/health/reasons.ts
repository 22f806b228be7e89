import type { PipelineStatus } from '@tidemark/pipeline'
import type { Health } from 'tidemark'
import { withoutPaths } from '../problems/http-words.ts'

/** Why somebody should look at it. */
export type Reason = {
  readonly kind: ReasonKind
  readonly message: string
  /**
   * Whether this server can't do its work. Problems of the shared database, such as a dead group, block none of its
   * servers.
   */
  readonly blocking: boolean
}

export const REASON_KINDS = [
  'closing',
  'database',
  'service',
  'resource',
  'disk',
  'failing-group',
  'dead-group',
  'near-timeout',
  'lost-messages',
  'stuck-messages',
  'overdue-job',
  'clean-up',
  'inconsistency',
  'open-transaction',
  'partitions',
  'zombie',
  'unsubscribed-topic',
  'clock',
] as const
type ReasonKind = (typeof REASON_KINDS)[number]

const blocking = (kind: ReasonKind, message: string): Reason => ({ kind, message, blocking: true })
const note = (kind: ReasonKind, message: string): Reason => ({ kind, message, blocking: false })

/** More are of no use to a probe, and ten thousand dead groups would produce megabytes. */
export const MOST_REASONS = 100

/** Blocking reasons first. The last one says how many were left out. */
export function mainReasons(reasons: readonly Reason[]): readonly Reason[] {
  const sorted = [...reasons.filter(each => each.blocking), ...reasons.filter(each => !each.blocking)]
  const [first, ...others] = sorted.slice(MOST_REASONS - 1)
  if (first === undefined || others.length === 0) return sorted
  const rest = { ...first, message: `${first.message}; and ${others.length} other reasons` }
  return [...sorted.slice(0, MOST_REASONS - 1), rest]
}

export function topicReasons(health: Health): Reason[] {
  const { database, failing, dead, nearTimeout, lost, stuck, cleanUp, zombies, unsubscribed, clock } = health
  const why = database.error?.message ?? 'no answer'
  return [
    ...(database.reachable
      ? []
      : [blocking('database', `The database of the topics does not answer: ${withoutPaths(why)}`)]),
    ...failing.map(({ topic, group, lastError }) =>
      blocking(
        'failing-group',
        `${groupOf(topic, group)} can't claim messages in this process: ${withoutPaths(lastError?.message ?? 'no answer')}`,
      ),
    ),
    ...dead.map(({ topic, group, sinceHeartbeatMs }) =>
      note('dead-group', `${groupOf(topic, group)} is dead: no heartbeat for ${seconds(sinceHeartbeatMs)}`),
    ),
    ...nearTimeout.map(({ topic, group, sinceHeartbeatMs }) =>
      note(
        'near-timeout',
        `${groupOf(topic, group)} is about to be dead: no heartbeat for ${seconds(sinceHeartbeatMs)}`,
      ),
    ),
    ...lost.map(({ topic, group, unacknowledgedLoss }) =>
      note('lost-messages', `${groupOf(topic, group)} has lost ${unacknowledgedLoss} messages`),
    ),
    ...stuck.map(({ topic, ageMs }) =>
      note('stuck-messages', `Topic '${topic}' has messages waiting for ${seconds(ageMs)}`),
    ),
    ...overdueJobs(health),
    ...cleanUp.removable.map(({ topic, messages }) =>
      note('clean-up', `Topic '${topic}' has ${messages} messages that should have been removed`),
    ),
    ...health.inconsistencies.map(({ topic, what }) => note('inconsistency', `Topic '${topic}': ${what}`)),
    ...health.partitions.map(({ topic, room }) =>
      note('partitions', `Topic '${topic}' has partitions for ${room} more messages only`),
    ),
    ...health.horizonHolders.map(({ pid, ageMs }) =>
      note('open-transaction', `The transaction of process ${pid} of the database has been open for ${seconds(ageMs)}`),
    ),
    ...zombies.map(({ topic, group, waiting }) =>
      note('zombie', `${groupOf(topic, group)} does not move, and ${waiting} messages wait for it`),
    ),
    ...unsubscribed.map(({ topic, messages }) =>
      note('unsubscribed-topic', `Nobody is subscribed to topic '${topic}', which has ${messages} messages`),
    ),
    ...(clock?.ok === false
      ? [note('clock', `The clock of this server is off by ${seconds(Math.abs(clock.offsetMs))}`)]
      : []),
  ]
}

export function pipelineReasons({ services, resources, disk }: PipelineStatus): Reason[] {
  return [
    ...services
      .filter(({ healthy }) => !healthy)
      .map(({ name, state, waitingFor, errors }) => {
        const why = errors.at(-1)?.error.message ?? waitingFor ?? 'it says no more'
        return blocking('service', `Service '${name}' (${state}) is failing: ${withoutPaths(why)}`)
      }),
    ...resources
      .filter(({ healthy }) => !healthy)
      .map(({ name, kind, errors }) =>
        blocking(
          'resource',
          `The ${kind} '${name}' is away: ${withoutPaths(errors.at(-1)?.error.message ?? 'no answer')}`,
        ),
      ),
    ...(disk.healthy
      ? []
      : [note('disk', withoutPaths(disk.reason ?? 'The sources are paused for want of disk space'))]),
  ]
}

/** Three times the longest interval of a preset. A job that has never run is covered by `cleanUp.overdue`. */
const OVERDUE_MS: { readonly [job: string]: number } = {
  'dead-groups': 15 * 60_000,
  backfills: 15 * 60_000,
  subscriptions: 3 * 3_600_000,
}

function overdueJobs({ jobs, checkedAt, cleanUp }: Health): Reason[] {
  const now = checkedAt.getTime()
  const others = jobs.filter(({ name, running, runs, succeededAt, startedAt }) => {
    const since = succeededAt ?? startedAt
    return !running && runs > 0 && since !== null && now - since > (OVERDUE_MS[name] ?? Number.POSITIVE_INFINITY)
  })
  const names = [...(cleanUp.overdue ? ['messages'] : []), ...others.map(({ name }) => name)]
  return names.map(name => {
    const { succeededAt = null } = jobs.find(job => job.name === name) ?? {}
    const last = succeededAt === null ? 'it has never succeeded' : `it last succeeded ${seconds(now - succeededAt)} ago`
    return note('overdue-job', `Job '${name}' is overdue: ${last}. Is a process running maintenance?`)
  })
}

const groupOf = (topic: string, group: string): string =>
  group === '' ? `The group of queue '${topic}'` : `Group '${group}' of topic '${topic}'`

const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`

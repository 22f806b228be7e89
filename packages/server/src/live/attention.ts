import type { PipelineStatus } from '@tidemark/pipeline'
import type { Health } from 'tidemark'
import { withoutPaths } from '../problems/http-words.ts'
import type { Attention, TopicLive } from './shapes.ts'

/** What needs attention, most urgent first. The rest is one line. */
export const MOST_ATTENTION = 50

/** The order in which the page shows them: losses before delays, and delays before oddities. */
export function attentionOf(
  health: Health | undefined,
  pipeline: PipelineStatus | undefined,
  topics: readonly TopicLive[],
  behind: readonly Attention[] = [],
): readonly Attention[] {
  const found = [
    ...(health === undefined ? [] : [...broken(health), ...lost(health), ...dead(health)]),
    ...(pipeline === undefined ? [] : services(pipeline)),
    ...deadLetters(topics),
    ...behind,
    ...(pipeline === undefined ? [] : gaps(pipeline)),
    ...(health === undefined ? [] : late(health)),
  ]
  if (found.length <= MOST_ATTENTION) return found
  const rest = found.length - MOST_ATTENTION + 1
  return [
    ...found.slice(0, MOST_ATTENTION - 1),
    {
      severity: 'warning',
      kind: 'more',
      since: null,
      count: rest,
      text: `${rest} more. GET /api/v1/health lists them`,
    },
  ]
}

function broken({ database, inconsistencies, clock }: Health): Attention[] {
  return [
    ...(database.reachable
      ? []
      : [
          {
            severity: 'bad' as const,
            kind: 'database',
            since: database.unreachableSince,
            text: `The database does not answer: ${withoutPaths(database.error?.message ?? 'no answer')}`,
          },
        ]),
    ...inconsistencies.map(
      ({ topic, what }): Attention => ({
        severity: 'bad',
        kind: 'inconsistency',
        topic,
        since: null,
        text: `${topic}: ${what}`,
      }),
    ),
    ...(clock?.ok === false
      ? [
          {
            severity: 'bad' as const,
            kind: 'clock',
            since: null,
            text: `The clock of the server is off by ${seconds(Math.abs(clock.offsetMs))}, so nothing is removed for its age`,
          },
        ]
      : []),
  ]
}

const lost = ({ lost: groups }: Health): Attention[] =>
  groups.map(({ topic, group, unacknowledgedLoss, lostAt }) => ({
    severity: 'bad',
    kind: 'lost-messages',
    topic,
    group,
    since: lostAt,
    count: unacknowledgedLoss,
    text: `${placeOf(topic, group)} has lost ${messages(unacknowledgedLoss)}`,
  }))

const dead = ({ dead: groups }: Health): Attention[] =>
  groups.map(({ topic, group, sinceHeartbeatMs, lagMessages, lastHeartbeatAt }) => ({
    severity: 'bad',
    kind: 'dead-group',
    topic,
    group,
    since: lastHeartbeatAt,
    count: lagMessages,
    text: `${placeOf(topic, group)} is dead: silent for ${seconds(sinceHeartbeatMs)}, ${messages(lagMessages)} waiting`,
  }))

const services = ({ services: all, resources, disk }: PipelineStatus): Attention[] => [
  ...all
    .filter(({ healthy }) => !healthy)
    .map(({ name, state, errors, waitingFor }): Attention => {
      const why = errors.at(-1)?.error.message ?? waitingFor ?? 'it says no more'
      return {
        severity: state === 'ERROR' ? 'bad' : 'warning',
        kind: 'service',
        service: name,
        since: errors.at(-1)?.at ?? null,
        text: `${name} (${state.toLowerCase()}): ${withoutPaths(why)}`,
      }
    }),
  ...resources
    .filter(({ healthy }) => !healthy)
    .map(
      ({ name, kind, errors }): Attention => ({
        severity: 'bad',
        kind: 'resource',
        since: errors.at(-1)?.at ?? null,
        text: `The ${kind} ${name} does not answer: ${withoutPaths(errors.at(-1)?.error.message ?? 'no answer')}`,
      }),
    ),
  ...(disk.healthy
    ? []
    : [
        {
          severity: 'warning' as const,
          kind: 'disk',
          since: disk.pausedSince,
          text: `The sources wait for ${withoutPaths(disk.reason ?? 'room on the disk')}`,
        },
      ]),
]

const deadLetters = (topics: readonly TopicLive[]): Attention[] =>
  topics.flatMap(({ topic, groups }) =>
    groups
      .filter(group => group.deadLetters > 0)
      .map(
        ({ group, deadLetters: count }): Attention => ({
          severity: 'warning',
          kind: 'dead-letters',
          topic,
          group,
          since: null,
          count,
          text: `${placeOf(topic, group)} has ${count} dead ${count === 1 ? 'letter' : 'letters'}`,
        }),
      ),
  )

/** All indexers see the same gaps: the one that misses most tells of them. */
function gaps({ services: all }: PipelineStatus): Attention[] {
  const counted = all.map(({ name, metrics }) => ({
    name,
    open: metrics.openGaps ?? 0,
    permanent: metrics.permanentGaps ?? 0,
  }))
  const most = counted.toSorted((one, other) => other.open + other.permanent - one.open - one.permanent)[0]
  if (most === undefined || most.open + most.permanent === 0) return []
  const words = [
    ...(most.open > 0 ? [`${most.open} that may still be filled`] : []),
    ...(most.permanent > 0 ? [`${most.permanent} for good`] : []),
  ]
  return [
    {
      severity: 'warning',
      kind: 'gaps',
      service: most.name,
      since: null,
      count: most.open + most.permanent,
      text: `Ticks are missing in the index: ${words.join(', ')}`,
    },
  ]
}

const late = ({ nearTimeout, stuck, zombies, horizonHolders, unsubscribed, partitions }: Health): Attention[] => [
  ...partitions.map(
    ({ topic, room }): Attention => ({
      severity: 'bad',
      kind: 'partitions',
      topic,
      since: null,
      text: `${topic} has partitions for ${messages(room)} more only`,
    }),
  ),
  ...nearTimeout.map(
    ({ topic, group, sinceHeartbeatMs, lastHeartbeatAt }): Attention => ({
      severity: 'warning',
      kind: 'near-timeout',
      topic,
      group,
      since: lastHeartbeatAt,
      text: `${placeOf(topic, group)} has sent no heartbeat for ${seconds(sinceHeartbeatMs)}`,
    }),
  ),
  ...stuck.map(
    ({ topic, ageMs }): Attention => ({
      severity: 'warning',
      kind: 'stuck-messages',
      topic,
      since: null,
      text: `${topic} has messages that have been waiting for ${seconds(ageMs)}`,
    }),
  ),
  ...zombies.map(
    ({ topic, group, waiting }): Attention => ({
      severity: 'warning',
      kind: 'zombie',
      topic,
      group,
      since: null,
      count: waiting,
      text: `${placeOf(topic, group)} does not move, and ${messages(waiting)} wait for it`,
    }),
  ),
  ...horizonHolders.map(
    ({ pid, ageMs, query }): Attention => ({
      severity: 'warning',
      kind: 'open-transaction',
      since: null,
      text: `Process ${pid} of the database has had a transaction open for ${seconds(ageMs)}: ${query.slice(0, 100)}`,
    }),
  ),
  ...unsubscribed.map(
    ({ topic, messages: count }): Attention => ({
      severity: 'warning',
      kind: 'unsubscribed-topic',
      topic,
      since: null,
      count,
      text: `Nobody is subscribed to ${topic}, which keeps ${messages(count)}`,
    }),
  ),
]

const placeOf = (topic: string, group: string): string => (group === '' ? `The queue ${topic}` : `${topic} / ${group}`)
const messages = (count: number): string => (count === 1 ? '1 message' : `${count} messages`)

function seconds(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}

import type { GroupHealth } from './admin/group-health.ts'
import { type Health, type HealthOptions, parseLimits } from './admin/health.ts'
import { TidemarkError } from './errors.ts'
import { open } from './open.ts'
import { type NamespaceOptions, operatorOf } from './operate.ts'
import type { DatabaseAddress } from './stores/driver.ts'
import { bad, type Finding, ok, warn } from './stores/finding.ts'

/** Options of `diagnose`. */
export type DiagnoseOptions = NamespaceOptions & {
  /** Thresholds of the topic checks, as in `tm.admin.health`. */
  health?: HealthOptions
}

const QUIET = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Check the database and, if it can be opened, its topics. Nothing is written. Every problem is a finding with advice.
 *
 * @example
 * for (const { check, state, found, advice } of await diagnose('sqlite:./data/app.db')) {
 *   console.log(state, check, found, advice ?? '')
 * }
 */
export async function diagnose(database: DatabaseAddress, given?: DiagnoseOptions): Promise<Finding[]> {
  const { health, ...options } = given ?? {}
  const operator = await operatorOf('diagnose', database, options)
  parseLimits(health)
  const { findings, usable } = await operator.diagnose()
  if (!usable) return [...findings]
  return [...findings, ...(await topicFindings(database, options, health))]
}

async function topicFindings(
  database: DatabaseAddress,
  options: NamespaceOptions,
  limits: HealthOptions | undefined,
): Promise<Finding[]> {
  try {
    await using tm = await open(database, { ...options, maintenance: false, autoCreate: false, logger: QUIET })
    const topics = await tm.admin.topics()
    const groups: GroupHealth[] = []
    for (const { topic } of topics) groups.push(...(await tm.admin.groups(topic)))
    return [
      ok('topics', `${topics.length}, with ${groups.length} groups`),
      ...groupFindings(groups),
      ...healthFindings(await tm.admin.health(limits)),
    ]
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error
    return [bad('topics', error.message, 'follow the advice in the message')]
  }
}

function groupFindings(groups: readonly GroupHealth[]): Finding[] {
  const letters = groups.filter(({ deadLetters }) => deadLetters > 0)
  const lost = groups.filter(({ unacknowledgedLoss }) => unacknowledgedLoss > 0)
  return [
    ...each('dead letters', letters, 'none', group =>
      warn(
        'dead letters',
        `${group.deadLetters} of ${nameOf(group)}`,
        `look at them with 'tidemark dead-letters list ${group.topic}'; then redrive or discard them`,
      ),
    ),
    ...each('lost messages', lost, 'none', group =>
      warn(
        'lost messages',
        `${group.unacknowledgedLoss} of ${nameOf(group)}, last ${group.lostAt?.toISOString() ?? ''}`,
        "raise the retention, or see to the group earlier; then 'tidemark groups acknowledge-loss'",
      ),
    ),
  ]
}

const healthFindings = (health: Health): Finding[] => [
  ...standstillFindings(health),
  ...cleanUpFindings(health),
  ...databaseFindings(health),
]

/** Groups and messages that make no progress. */
function standstillFindings(health: Health): Finding[] {
  return [
    ...each('heartbeats', health.nearTimeout, 'all in time', group =>
      warn(
        'heartbeats',
        `${nameOf(group)} is silent for ${seconds(group.sinceHeartbeatMs)}`,
        'see whether its process runs',
      ),
    ),
    ...each('dead groups', health.dead, 'none', group =>
      warn(
        'dead groups',
        `${nameOf(group)} is dead since it was last heard of at ${group.lastHeartbeatAt.toISOString()}`,
        `start it again, or 'tidemark groups resurrect' or 'tidemark groups remove' it`,
      ),
    ),
    ...each('stuck messages', health.stuck, 'none', ({ topic, since }) =>
      warn(
        'stuck messages',
        `in ${topic}, since ${since.toISOString()}`,
        `'tidemark groups list ${topic}' tells which group`,
      ),
    ),
    ...each('zombies', health.zombies, 'none', ({ topic, group, waiting }) =>
      warn('zombies', `group ${group} of ${topic} does not move, and ${waiting} wait`, 'resume it, or remove it'),
    ),
    ...each('subscriptions', health.unsubscribed, 'every pub-sub topic with messages has one', ({ topic, messages }) =>
      warn(
        'subscriptions',
        `nobody is subscribed to ${topic}, which keeps ${messages} messages`,
        'start a group, or delete it',
      ),
    ),
  ]
}

function cleanUpFindings({ cleanUp }: Health): Finding[] {
  return [
    cleanUp.overdue
      ? warn(
          'clean-up',
          cleanUp.lastRunAt === null ? 'has never run' : `last ran at ${cleanUp.lastRunAt.toISOString()}`,
          'open one process with maintenance on',
        )
      : ok(
          'clean-up',
          cleanUp.lastRunAt === null ? 'has not run yet' : `last ran at ${cleanUp.lastRunAt.toISOString()}`,
        ),
    ...cleanUp.removable.map(({ topic, messages }) =>
      warn('clean-up', `${messages} messages of ${topic} could be gone`, "choose maintenance: 'high' in open()"),
    ),
  ]
}

function databaseFindings(health: Health): Finding[] {
  return [
    ...each('partitions', health.partitions, 'made ahead', ({ topic, room }) =>
      (room === 0 ? bad : warn)(
        'partitions',
        `topic ${topic} has partitions for ${room} more messages, then publishing fails`,
        "run 'tidemark migrate' as the owner of the tables, and keep a process with maintenance running as that user",
      ),
    ),
    ...each('open transactions', health.horizonHolders, 'none is old', ({ pid, ageMs, state, application, query }) =>
      warn(
        'open transactions',
        `pid ${pid} (${application || 'unnamed'}) is ${state} for ${seconds(ageMs)}: ${query}`,
        `it holds watermarks and clean-up back; end it: select pg_terminate_backend(${pid})`,
      ),
    ),
    ...clockFindings(health),
    ...each('consistency', health.inconsistencies, 'nothing that must never be', ({ topic, what }) =>
      bad('consistency', `${topic}: ${what}`, 'keep a copy of the database, and report this sentence'),
    ),
  ]
}

/** A server's clock is covered by the database's own findings. */
function clockFindings({ clock }: Health): Finding[] {
  if (clock === null) return []
  const apart = `${seconds(Math.abs(clock.offsetMs))} ${clock.offsetMs > 0 ? 'ahead of' : 'behind'} the file's`
  if (clock.ok) return [ok('clock', "this machine's and the file's agree")]
  return [warn('clock', `this machine's is ${apart}: nothing is removed for its age`, "set the machine's clock right")]
}

/** One finding each, or one that says that there is none. */
const each = <T>(check: string, list: readonly T[], none: string, finding: (one: T) => Finding): Finding[] =>
  list.length === 0 ? [ok(check, none)] : list.map(finding)

const nameOf = ({ topic, group }: GroupHealth): string =>
  group === '' ? `queue ${topic}` : `group ${group} of ${topic}`
const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`

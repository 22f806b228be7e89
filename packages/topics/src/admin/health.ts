import type { Engine } from '../consume/engine.ts'
import type { Duration } from '../duration.ts'
import { Options } from '../options.ts'
import type { HorizonHolder, JobRecord, TopicFacts, UnsubscribedTopic } from '../stores/fan-out-store.ts'
import type { TopicRecord } from '../stores/store.ts'
import { type GroupHealth, toHealth } from './group-health.ts'

export type HealthOptions = {
  /** Of its timeout: silent for longer than this share, a group is near it. */
  nearTimeout?: number
  /** A message that a group has not processed for so long is stuck. */
  stuckAfter?: Duration
  /** With more messages that could be gone, clean-up falls behind. */
  removable?: number
  /** How often the messages job should run: three times that without a run, and clean-up falls behind. */
  cleanUpEvery?: Duration
  /** Transactions younger than this are nobody's concern. */
  openTransaction?: Duration
}

/** What needs somebody's attention. Cheap: it reads positions, jobs and a few rows of each log. */
export type Health = {
  /** Nothing below needs anybody. */
  readonly healthy: boolean
  readonly checkedAt: Date
  /** Groups about to be counted as missing. */
  readonly nearTimeout: readonly GroupHealth[]
  readonly dead: readonly GroupHealth[]
  readonly stuck: readonly { readonly topic: string; readonly since: Date; readonly ageMs: number }[]
  /** What must never be: report it. */
  readonly inconsistencies: readonly { readonly topic: string; readonly what: string }[]
  readonly cleanUp: {
    readonly behind: boolean
    readonly lastRunAt: Date | null
    readonly overdue: boolean
    readonly removable: readonly { readonly topic: string; readonly messages: number }[]
  }
  /** PostgreSQL: transactions left open, which hold watermarks and clean-up back. */
  readonly horizonHolders: readonly HorizonHolder[]
  /** Groups with messages waiting that have not moved for their topic's zombieTtl. */
  readonly zombies: readonly {
    readonly topic: string
    readonly group: string
    readonly movedAt: Date
    readonly waiting: number
  }[]
  readonly unsubscribed: readonly UnsubscribedTopic[]
  readonly jobs: readonly JobRecord[]
}

type Limits = {
  readonly nearTimeout: number
  readonly stuckMs: number
  readonly removable: number
  readonly overdueMs: number
  readonly transactionMs: number
}
type Examined = { readonly topic: TopicRecord; readonly facts: TopicFacts; readonly groups: GroupHealth[]; now: number }

export async function health(engine: Engine, given?: HealthOptions): Promise<Health> {
  engine.assertOpen()
  const limits = parseLimits(given)
  const { store } = engine
  const [records, jobs, zombies, unsubscribed, holders] = await Promise.all([
    store.topics(),
    store.jobs(),
    store.zombies(),
    store.unsubscribedTopics(),
    store.horizonHolders(),
  ])
  const topics: Examined[] = []
  // One after the other: a look at the health must not take the connections of those that work.
  for (const record of records) topics.push(...(await examine(engine, record, limits)))
  const now = topics.at(-1)?.now ?? Date.now()
  const groups = topics.flatMap(each => each.groups)
  const found = {
    nearTimeout: groups.filter(each => each.nearTimeout),
    dead: groups.filter(each => each.status === 'DEAD'),
    stuck: topics.flatMap(each => stuckIn(each, limits)),
    inconsistencies: inconsistenciesOf(topics),
    cleanUp: cleanUpOf(topics, jobs, now, limits),
    horizonHolders: holders.filter(({ ageMs }) => ageMs >= limits.transactionMs),
    zombies: zombies.map(({ topic, subscription, movedAt, waiting }) => ({
      topic: topic.name,
      group: subscription.group,
      movedAt: new Date(movedAt),
      waiting,
    })),
    unsubscribed,
  }
  const { cleanUp, ...lists } = found
  const healthy = !cleanUp.behind && Object.values(lists).every(list => list.length === 0)
  return { healthy, checkedAt: new Date(now), ...found, jobs }
}

export function parseLimits(given: unknown): Limits {
  const options = new Options('health', given)
  const limits = {
    nearTimeout: options.number('nearTimeout', 0.8, { min: 0, max: 1 }),
    stuckMs: options.duration('stuckAfter', 3_600_000),
    removable: options.integer('removable', 1_000_000, { min: 0, max: Number.MAX_SAFE_INTEGER }),
    overdueMs: 3 * options.duration('cleanUpEvery', 300_000),
    transactionMs: options.duration('openTransaction', 300_000),
  }
  options.done()
  return limits
}

async function examine({ store }: Engine, topic: TopicRecord, limits: Limits): Promise<Examined[]> {
  try {
    const { groups, now } = await store.describeTopic(topic)
    const facts = await store.facts(topic)
    return [{ topic, facts, now, groups: groups.map(each => toHealth(topic, each, now, limits.nearTimeout)) }]
  } catch (error) {
    // Deleted since the list was read.
    if ((await store.topic(topic.name))?.id !== topic.id) return []
    throw error
  }
}

function stuckIn({ topic, facts, now }: Examined, { stuckMs }: Limits): Health['stuck'] {
  const since = facts.oldestUnprocessedAt
  if (since === null || now - since <= stuckMs) return []
  return [{ topic: topic.name, since: new Date(since), ageMs: now - since }]
}

/** What belongs to no topic is found by each of them, and told once. */
function inconsistenciesOf(topics: readonly Examined[]): Health['inconsistencies'] {
  const told = new Map<string, { topic: string; what: string }>()
  for (const { topic, facts } of topics) {
    for (const what of facts.inconsistencies) if (!told.has(what)) told.set(what, { topic: topic.name, what })
  }
  return [...told.values()]
}

function cleanUpOf(
  topics: readonly Examined[],
  jobs: readonly JobRecord[],
  now: number,
  limits: Limits,
): Health['cleanUp'] {
  const job = jobs.find(({ name }) => name === 'messages')
  const lastRunAt = job?.startedAt ?? null
  // One that never ran may have been opened a moment ago; what it leaves undone is counted.
  const overdue = lastRunAt !== null && now - lastRunAt > limits.overdueMs
  const removable = topics
    .filter(({ facts }) => facts.removable > limits.removable)
    .map(({ topic, facts }) => ({ topic: topic.name, messages: facts.removable }))
  const behind = overdue || removable.length > 0
  return { behind, overdue, removable, lastRunAt: lastRunAt === null ? null : new Date(lastRunAt) }
}

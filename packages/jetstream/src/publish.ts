import { randomBytes } from 'node:crypto'
import {
  DatabaseUnreachableError,
  NoSubscriptionsError,
  OutcomeUnknownError,
  TidemarkError,
  TopicNotFoundError,
} from 'tidemark'
import type { OutgoingMessage, PublishedMessage, TopicRecord } from 'tidemark/store'
import { placeOf, seqOf } from './entry.ts'
import { isLive } from './group/document.ts'
import { readMarker } from './markers.ts'
import type { Namespace } from './namespace.ts'
import { pause } from './nats/connection.ts'
import { BatchDropped, Conflict, NoAnswer, StreamGone, unreachable } from './nats/errors.ts'
import { topicKey } from './nats/names.ts'
import { type Plan, planOf } from './publish-plan.ts'
import { random52 } from './random.ts'
import type { TopicStore } from './topic-store.ts'
import type { Turn } from './turns.ts'

const GIVE_UP_MS = 30_000

/** Stores the messages in one atomic batch. What is sent again after a lost answer is stored once. */
export async function publish(
  ns: Namespace,
  topics: TopicStore,
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
): Promise<PublishedMessage[]> {
  ns.guard.assertThere()
  const turn = ns.turns.take(topicKey(topic))
  ns.hints.publishing(topic.id)
  let isStored = false
  try {
    const published = await publishInTurn(ns, topics, topic, messages, turn)
    isStored = true
    return published
  } finally {
    turn.pass()
    ns.hints.published(topic.id, isStored)
  }
}

async function publishInTurn(
  ns: Namespace,
  topics: TopicStore,
  topic: TopicRecord,
  messages: readonly OutgoingMessage[],
  turn: Turn,
): Promise<PublishedMessage[]> {
  if (topic.config.blockPublishWithoutSubscription) await requireSubscription(topics, topic)
  const salt = random52()
  const nonce = randomBytes(12).toString('hex')
  const until = performance.now() + GIVE_UP_MS
  /** Batches of unknown outcome. */
  const unknown: Plan[] = []
  for (let tries = 0; ; tries++) {
    let sent: Plan | null = null
    try {
      const stored = unknown.length === 0 ? null : await storedOf(ns, topic, nonce, unknown)
      if (stored !== null) return stored
      const plan = await planOf(ns, topic, messages, { salt, nonce, number: unknown.length })
      const { writes } = plan
      if (writes.length === 0) return plan.resultsOf(0)
      await turn.come
      sent = plan
      const storing = ns.client.store(writes, writes.length === 1 ? nonce : undefined)
      turn.pass()
      const { seq } = await storing
      ns.reader(topic).published(seq)
      return plan.resultsOf(seq)
    } catch (error) {
      // Another publisher has stored one of the ids first, or this batch was stored when its answer was lost.
      if (error instanceof Conflict) continue
      const isUnreachable = error instanceof DatabaseUnreachableError && unknown.length > 0
      if (!(error instanceof NoAnswer || error instanceof BatchDropped || isUnreachable)) {
        throw await goneError(ns, topic, error)
      }
      if (error instanceof NoAnswer && sent !== null) {
        unknown.push(sent)
        await assertTopic(topics, topic, tries)
      }
      if (performance.now() > until) throw outcomeOf(ns, unknown, error)
      await pause(20 + Math.random() * 50)
    }
  }
}

/** Of the batch that was stored although its answer was lost, if one was. */
async function storedOf(
  ns: Namespace,
  topic: TopicRecord,
  nonce: string,
  unknown: readonly Plan[],
): Promise<PublishedMessage[] | null> {
  const own = await readMarker(ns, topic, nonce)
  const plan = own === null ? undefined : unknown[placeOf(own.id)]
  if (own === null || plan === undefined) return null
  ns.reader(topic).published(seqOf(own.id))
  return plan.resultsOf(seqOf(own.id))
}

/** Nothing was stored if the server has refused every batch. */
const outcomeOf = (ns: Namespace, unknown: readonly Plan[], error: unknown): Error =>
  unknown.length === 0 ? unreachable(ns.location, error) : OutcomeUnknownError.afterLostConnection(ns.location, error)

/** Checked before the publish, not with it: the log and the groups are different streams. */
async function requireSubscription(topics: TopicStore, topic: TopicRecord): Promise<void> {
  const { value } = await topics.read(topic)
  const groups = await topics.groups(value)
  if (!groups.some(group => isLive(group.value))) throw new NoSubscriptionsError(topic.name)
}

/** Nobody may answer because the topic no longer exists. */
async function assertTopic(topics: TopicStore, topic: TopicRecord, attempt: number): Promise<void> {
  if (attempt % 4 !== 0) return
  topics.forget(topic.id)
  try {
    await topics.read(topic)
    await topics.examine(topic, { now: true })
  } catch (error) {
    // Others are no answer either.
    if (error instanceof TidemarkError && !(error instanceof DatabaseUnreachableError)) throw error
  }
}

async function goneError(ns: Namespace, topic: TopicRecord, error: unknown): Promise<unknown> {
  if (!(error instanceof StreamGone)) return error
  await ns.assertThere()
  return new TopicNotFoundError(topic.name)
}

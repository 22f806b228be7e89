import { GroupNotFoundError, TopicNotFoundError } from '../errors.ts'
import { checkName } from '../options/names.ts'
import type { Runtime } from '../runtime.ts'
import type { SubscriptionRecord } from '../stores/subscription-record.ts'
import type { TopicRecord } from '../stores/topic-record.ts'

export type GroupRecords = { readonly topic: TopicRecord; readonly subscription: SubscriptionRecord }

/** The topic as the database has it now. Never creates one. */
export async function findTopic(runtime: Runtime, name: string): Promise<TopicRecord> {
  runtime.assertOpen()
  const record = await runtime.store.topics.find(checkName('topic', name))
  if (record === undefined) throw new TopicNotFoundError(name)
  return record
}

/**
 * For reads that repeat several times a second: the topic is looked up once, not each time. `read` checks that it still
 * exists, and that its configuration is the known one; where it was deleted and created again, the new one is read.
 */
export async function withKnownTopic<T>(
  runtime: Runtime,
  name: string,
  read: (topic: TopicRecord) => Promise<T>,
): Promise<T> {
  runtime.assertOpen()
  const known = runtime.topics.known(name)
  if (known !== undefined) {
    try {
      return await read(known)
    } catch (error) {
      if (!(error instanceof TopicNotFoundError)) throw error
      runtime.topics.forget(name)
    }
  }
  return await read(await runtime.topics.find(name))
}

/** The group with this name; in a queue the only one, whatever the name. '' is always the group without a name. */
export async function findGroup(runtime: Runtime, topicName: string, group: string): Promise<GroupRecords> {
  const topic = await findTopic(runtime, topicName)
  const name = storedName(topic, group)
  const subscription = await runtime.store.subscriptions.find(topic, name)
  if (subscription !== undefined) return { topic, subscription }
  const { groups } = await runtime.store.inspection.describe(topic)
  throw new GroupNotFoundError(
    topicName,
    name,
    groups.map(each => each.group),
  )
}

export const storedName = ({ config }: TopicRecord, group: string): string =>
  config.semantics === 'queue' || group === '' ? '' : checkName('group', group)

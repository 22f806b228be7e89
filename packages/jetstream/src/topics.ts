import { TopicNotFoundError, TransactionError } from 'tidemark'
import { mergeTopicConfig, readTopicConfig, type TopicConfig, type Topics } from 'tidemark/store'
import { removable } from './clean-up.ts'
import { DamagedTopic } from './damaged-topic.ts'
import { tombstone } from './group/change.ts'
import { lastSeq, NO_TX } from './log.ts'
import type { Namespace } from './namespace.ts'
import { topicKey } from './nats/names.ts'
import { recordOf, type TopicDocument } from './topic-document.ts'
import type { TopicStore } from './topic-store.ts'
import { refuseReferences } from './unsupported.ts'

/** Most messages that a preview counts. */
const MOST_COUNTED = 100_000

/** The topics of a namespace. */
export function jetStreamTopics(ns: Namespace, topics: TopicStore): Topics {
  const configure: Topics['configure'] = async (name, given) => {
    refuseReferences(given)
    for (;;) {
      const found = await topics.find(name)
      if (found === undefined) {
        await topics.create(name, given)
        const created = await topics.find(name)
        if (created !== undefined) return recordOf(created.value)
        continue
      }
      try {
        await reconfigure(ns, topics, found.value, given)
        const changed = await topics.find(name)
        if (changed !== undefined) return recordOf(changed.value)
      } catch (error) {
        // Deleted meanwhile: it is created anew.
        if (!(error instanceof TopicNotFoundError)) throw error
      }
    }
  }
  return {
    find: async name => {
      try {
        const found = await topics.find(name)
        return found && recordOf(found.value)
      } catch (error) {
        // To delete it. Whatever else is wanted of it fails with this error.
        if (error instanceof DamagedTopic) return error.topic
        throw error
      }
    },
    findIn: async () => {
      throw new TransactionError(NO_TX)
    },
    list: async () => (await topics.list()).map(({ value }) => recordOf(value)),
    configure,
    preview: async (topic, given) => {
      refuseReferences(given)
      const { value } = await topics.read(topic)
      const config = readTopicConfig(mergeTopicConfig(topic.name, value.config, given, await hasMessages(ns, value)))
      const groups = (await topics.groups(value)).map(group => group.value)
      const { count } = await removable(ns, value, groups, MOST_COUNTED, config)
      return { config, removable: count }
    },
    delete: async topic => {
      await topics.delete(topic)
      ns.client.connection.tell(ns.names.hint(topic.id), 'changed')
    },
  }
}

async function reconfigure(
  ns: Namespace,
  topics: TopicStore,
  known: TopicDocument,
  given: Partial<TopicConfig>,
): Promise<void> {
  await topics.change(known, async topic => {
    const config = mergeTopicConfig(topic.name, topic.config, given, await hasMessages(ns, topic))
    if (JSON.stringify(config) === JSON.stringify(topic.config)) return { result: null }
    const changed = { ...topic, config, configVersion: topic.configVersion + 1 }
    if (config.semantics === topic.config.semantics) return { topic: changed, result: null }
    // Nothing was ever published, so nobody loses anything by removing groups of the other kind.
    const key = topicKey(topic)
    const writes = Object.keys(topic.groups).map(id => tombstone(ns.names.group(key, Number(id))))
    return { topic: { ...changed, groups: {} }, writes, result: null }
  })
  ns.client.connection.tell(ns.names.hint(known.id), 'changed')
}

/** Whether anything was ever published. */
async function hasMessages(ns: Namespace, topic: TopicDocument): Promise<boolean> {
  if (topic.removed > 0) return true
  if ((await lastSeq(ns, topic)) === 0) return false
  for await (const { count } of ns.reader(topic).walk(1)) if (count > 0) return true
  return false
}

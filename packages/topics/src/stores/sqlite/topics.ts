import type { TopicRecord } from '../topic-record.ts'
import type { Topics } from '../topics.ts'
import { inCallersTransaction } from './caller-transaction.ts'
import { configureTopic, previewConfig, topicIn } from './configure-topic.ts'
import type { Connection } from './connection.ts'
import type { SharedRowCache } from './row-cache.ts'
import { findTopic, logTable, readTopics } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** The topics of one file. */
export function sqliteTopics(connection: Connection, caches: SharedRowCache): Topics {
  const findInSync: NonNullable<Topics['findInSync']> = (tx, name, create) =>
    inCallersTransaction(connection, tx, prepare => topicIn(prepare, name, create))
  return {
    find: name => connection.read(tx => findTopic(tx, name)),
    findIn: async (tx, name, create) => findInSync(tx, name, create),
    findInSync,
    list: () => connection.read(readTopics),
    configure: (name, given) => connection.writeUnlessHeld(tx => configureTopic(tx, name, given)),
    preview: (topic, given) => connection.read(tx => previewConfig(tx, topic, given), { topic }),
    delete: topic => {
      caches.delete(topic.id)
      return connection.writeUnlessHeld(tx => deleteTopic(tx, topic), { topic })
    },
  }
}

/** Everything that refers to the topic is deleted with it; its groups notice wherever they run. */
function deleteTopic(tx: Transaction, topic: TopicRecord): void {
  tx.prepare(`
      delete from tidemark_lease
      where subscription_id in (select id from tidemark_subscription where topic_id = ?)`).run(topic.id)
  tx.prepare('delete from tidemark_topic where id = ?').run(topic.id)
  tx.exec(`drop table if exists ${logTable(topic.id)}`)
  tx.exec(`drop table if exists tidemark_track_${topic.id}`)
}

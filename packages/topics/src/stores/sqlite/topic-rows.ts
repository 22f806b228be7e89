import { readTopicConfig, type StoredTopicConfig } from '../../topic-config.ts'
import type { TopicRecord } from '../topic-record.ts'
import { rowOf, rowsOf } from './rows.ts'
import type { Transaction } from './transaction.ts'

export type TopicRow = {
  id: number
  name: string
  uid: number
  config: string
  config_version: number
  next_id: number
}

export const TOPIC_COLUMNS = 'id, name, uid, config, config_version, next_id'

export const findTopicRow = `select ${TOPIC_COLUMNS} from tidemark_topic where name = ?`

const LIST = `select ${TOPIC_COLUMNS} from tidemark_topic order by name`

export const logTable = (topicId: number): string => `tidemark_log_${topicId}`

/** The bitmaps of a topic with reference tracking. */
export const trackTable = (topicId: number): string => `tidemark_track_${topicId}`

export const hasTable = (tx: Transaction, name: string): boolean =>
  rowOf(tx.prepare("select 1 from sqlite_schema where type = 'table' and name = ?"), name) !== undefined

export function findTopic(tx: Transaction, name: string): TopicRecord | undefined {
  const row = rowOf<TopicRow>(tx.prepare(findTopicRow), name)
  return row && toRecord(row)
}

export const readTopics = (tx: Transaction): TopicRecord[] => rowsOf<TopicRow>(tx.prepare(LIST)).map(toRecord)

export const toRecord = (row: TopicRow): TopicRecord => ({
  id: row.id,
  name: row.name,
  uid: row.uid,
  config: readTopicConfig(JSON.parse(row.config) as StoredTopicConfig),
  configVersion: row.config_version,
})

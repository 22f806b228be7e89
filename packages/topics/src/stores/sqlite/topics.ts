import { randomBytes } from 'node:crypto'
import { mergeTopicConfig, type TopicConfig } from '../../topic-config.ts'
import type { TopicRecord } from '../store.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'
import { createTrack } from './tracking.ts'

export type TopicRow = {
  id: number
  name: string
  uid: string
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

export const hasTable = (connection: Connection, name: string): boolean =>
  rowOf(connection.prepare("select 1 from sqlite_schema where type = 'table' and name = ?"), name) !== undefined

export async function findTopic(connection: Connection, name: string): Promise<TopicRecord | undefined> {
  const row = await connection.retryWhileBusy(() => rowOf<TopicRow>(connection.prepare(findTopicRow), name))
  return row && toRecord(row)
}

export async function listTopics(connection: Connection): Promise<TopicRecord[]> {
  return await connection.retryWhileBusy(() => readTopics(connection))
}

export const readTopics = (connection: Connection): TopicRecord[] =>
  rowsOf<TopicRow>(connection.prepare(LIST)).map(toRecord)

/** What refers to the topic goes with it; its groups, wherever they run, find that they are gone. */
export async function deleteTopic(connection: Connection, topic: TopicRecord): Promise<void> {
  await connection.write(true, () => {
    connection.prepare('delete from tidemark_topic where id = ?').run(topic.id)
    connection.exec(`drop table if exists ${logTable(topic.id)}`)
    connection.exec(`drop table if exists tidemark_track_${topic.id}`)
  })
}

export async function configureTopic(
  connection: Connection,
  name: string,
  given: Partial<TopicConfig>,
): Promise<TopicRecord> {
  return await connection.write(true, () => {
    const row = rowOf<TopicRow>(connection.prepare(findTopicRow), name)
    const current = row && (JSON.parse(row.config) as TopicConfig)
    const config = JSON.stringify(mergeTopicConfig(name, current, given, row !== undefined && row.next_id > 1))
    if (row === undefined) createTopic(connection, name, config)
    else if (config !== row.config) {
      connection
        .prepare('update tidemark_topic set config = ?, config_version = config_version + 1 where id = ?')
        .run(config, row.id)
    }
    return toRecord(requiredRow<TopicRow>(connection.prepare(findTopicRow), name))
  })
}

function createTopic(connection: Connection, name: string, config: string): void {
  const uid = randomBytes(8).toString('hex').slice(0, 15)
  const { id } = requiredRow<{ id: number }>(
    connection.prepare('insert into tidemark_topic (name, uid, config, created_at) values (?, ?, ?, ?) returning id'),
    name,
    uid,
    config,
    connection.now(),
  )
  // JSON payloads are stored as text, others as blobs: people can read the table, and text becomes a string at no cost.
  connection.exec(`
    create table ${logTable(id)} (
      id integer primary key,
      created_at integer not null,
      key text,
      type text,
      headers text,
      message_id text,
      payload not null
    )`)
  if ((JSON.parse(config) as TopicConfig).tracking === 'reference') createTrack(connection, id)
}

export const toRecord = (row: TopicRow): TopicRecord => ({
  id: row.id,
  name: row.name,
  uid: BigInt(`0x${row.uid}`),
  config: JSON.parse(row.config) as TopicConfig,
  configVersion: row.config_version,
})

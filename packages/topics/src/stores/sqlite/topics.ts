import { random52 } from '../../random-bits.ts'
import { mergeTopicConfig, readTopicConfig, type StoredTopicConfig, type TopicConfig } from '../../topic-config.ts'
import type { TopicRecord } from '../store.ts'
import { nowBy, type Prepare } from './clock.ts'
import { type Connection, requiredRow, rowOf, rowsOf } from './connection.ts'
import { createTrack } from './tracking.ts'

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
  await connection.writeUnlessHeld(() => {
    connection
      .prepare(`
        delete from tidemark_lease
        where subscription_id in (select id from tidemark_subscription where topic_id = ?)`)
      .run(topic.id)
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
  return await connection.writeUnlessHeld(() => {
    const row = rowOf<TopicRow>(connection.prepare(findTopicRow), name)
    const current = row && (JSON.parse(row.config) as StoredTopicConfig)
    const config = JSON.stringify(mergeTopicConfig(name, current, given, row !== undefined && row.next_id > 1))
    if (row === undefined) {
      const id = createTopic(sql => connection.prepare(sql), name, config)
      if ((JSON.parse(config) as StoredTopicConfig).tracking === 'reference') createTrack(connection, id)
    } else if (config !== row.config) {
      // Nothing was ever published, so nobody loses anything: its groups are another kind's.
      const { semantics } = JSON.parse(config) as StoredTopicConfig
      if (semantics !== current?.semantics) {
        connection.prepare('delete from tidemark_subscription where topic_id = ?').run(row.id)
      }
      connection
        .prepare('update tidemark_topic set config = ?, config_version = config_version + 1 where id = ?')
        .run(config, row.id)
    }
    return toRecord(requiredRow<TopicRow>(connection.prepare(findTopicRow), name))
  })
}

/**
 * As a caller's open transaction sees it, which holds the only write lock: where `create` is asked for, it is made in that
 * transaction, and is gone if that is rolled back.
 */
export function topicIn(prepare: Prepare, name: string, create: boolean): TopicRecord | undefined {
  const row = rowOf<TopicRow>(prepare(findTopicRow), name)
  if (row !== undefined || !create) return row && toRecord(row)
  createTopic(prepare, name, JSON.stringify(mergeTopicConfig(name, undefined, {}, false)))
  return toRecord(requiredRow<TopicRow>(prepare(findTopicRow), name))
}

/** Without bitmaps. Gives its id. */
function createTopic(prepare: Prepare, name: string, config: string): number {
  const uid = random52()
  const { id } = requiredRow<{ id: number }>(
    prepare('insert into tidemark_topic (name, uid, config, created_at) values (?, ?, ?, ?) returning id'),
    name,
    uid,
    config,
    nowBy(prepare),
  )
  prepare(createLogText(id)).run()
  return id
}

/** JSON payloads are stored as text, others as blobs: people can read the table, and text becomes a string at no cost. */
export const createLogText = (topicId: number): string => `
    create table ${logTable(topicId)} (
      id integer primary key,
      created_at integer not null,
      salt integer not null default (random() & 0xfffffffffffff), -- 52 random bits of the publish: ids are drawn again after a rollback or a restore
      key text,
      type text,
      headers text,
      message_id text,
      payload not null
    )`

export const toRecord = (row: TopicRow): TopicRecord => ({
  id: row.id,
  name: row.name,
  uid: row.uid,
  config: readTopicConfig(JSON.parse(row.config) as StoredTopicConfig),
  configVersion: row.config_version,
})

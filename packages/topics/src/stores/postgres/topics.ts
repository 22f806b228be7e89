import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { PoolClient } from 'pg'
import { DEFAULT_TOPIC_CONFIG, mergeTopicConfig, type TopicConfig } from '../../topic-config.ts'
import type { TopicRecord } from '../store.ts'
import type { Database } from './database.ts'
import { lockKey } from './schema-name.ts'

export const TOPIC_COLUMNS = 'id, name, uid::text as uid, config, config_version'

export type TopicRow = {
  id: number | string
  name: string
  uid: string
  config: string | TopicConfig
  config_version: number | string
}

export async function findTopic(database: Database, name: string): Promise<TopicRecord | undefined> {
  const text = database.sql(`select ${TOPIC_COLUMNS} from tidemark.topic where name = $1`)
  const [row] = await database.query(text, [name], 'tidemark_topic')
  return row && toRecord(row as TopicRow)
}

export async function listTopics(database: Database): Promise<TopicRecord[]> {
  const rows = await database.query(database.sql(`select ${TOPIC_COLUMNS} from tidemark.topic order by name`))
  return rows.map(row => toRecord(row as TopicRow))
}

export async function configureTopic(
  database: Database,
  name: string,
  given: Partial<TopicConfig>,
): Promise<TopicRecord> {
  return await database.transaction(async client => {
    // Two processes that configure one topic do so one after the other.
    await client.query('select pg_advisory_xact_lock($1)', [lockKey(database.schema, 'topic', name)])
    const found = await client.query<TopicRow>(
      database.sql(`select ${TOPIC_COLUMNS} from tidemark.topic where name = $1 for update`),
      [name],
    )
    const existing = found.rows[0] && toRecord(found.rows[0])
    const hasMessages = existing !== undefined && (await isUsed(database, client, existing))
    const config = mergeTopicConfig(name, existing?.config, given, hasMessages)
    return existing ? await change(database, client, existing, config) : await create(database, client, name, config)
  })
}

async function create(database: Database, client: PoolClient, name: string, config: TopicConfig): Promise<TopicRecord> {
  const uid = randomBytes(8).readBigUInt64BE() >> 4n
  const { rows } = await client.query<TopicRow>(
    database.sql(
      `insert into tidemark.topic (name, uid, semantics, config) values ($1, $2, $3, $4) returning ${TOPIC_COLUMNS}`,
    ),
    [name, uid.toString(), config.semantics, JSON.stringify(config)],
  )
  const [row] = rows
  if (!row) throw new Error(`Topic '${name}' was not stored`)
  await client.query(database.sql('select tidemark.create_log($1, $2)'), [row.id, config.partitionRows])
  if (config.tracking === 'reference') {
    await client.query(database.sql('select tidemark.create_track($1, $2)'), [row.id, config.partitionRows])
  }
  return toRecord(row)
}

async function change(
  database: Database,
  client: PoolClient,
  topic: TopicRecord,
  config: TopicConfig,
): Promise<TopicRecord> {
  if (isDeepStrictEqual(config, topic.config)) return topic
  const { rows } = await client.query<TopicRow>(
    database.sql(
      `update tidemark.topic set config = $2, semantics = $3, config_version = config_version + 1 where id = $1 returning ${TOPIC_COLUMNS}`,
    ),
    [topic.id, JSON.stringify(config), config.semantics],
  )
  return rows[0] ? toRecord(rows[0]) : topic
}

async function isUsed(database: Database, client: PoolClient, topic: TopicRecord): Promise<boolean> {
  const { rows } = await client.query<{ used: boolean }>(database.sql('select tidemark.last_id($1) > 0 as used'), [
    topic.id,
  ])
  return rows[0]?.used ?? false
}

export function toRecord(row: TopicRow): TopicRecord {
  const stored = typeof row.config === 'string' ? (JSON.parse(row.config) as TopicConfig) : row.config
  return {
    id: Number(row.id),
    name: row.name,
    uid: BigInt(row.uid),
    // A topic written before a setting existed has its default.
    config: { ...DEFAULT_TOPIC_CONFIG, ...stored },
    configVersion: Number(row.config_version),
  }
}

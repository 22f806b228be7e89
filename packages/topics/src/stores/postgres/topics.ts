import { isDeepStrictEqual } from 'node:util'
import type { PoolClient } from 'pg'
import { random52 } from '../../payload/random-bits.ts'
import { mergeTopicConfig, readTopicConfig, type StoredTopicConfig, type TopicConfig } from '../../topic-config.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Topics } from '../topics.ts'
import { again, type Database } from './database.ts'
import { deleteTopic } from './delete-topic.ts'
import { lockKey } from './schema-name.ts'

/** The topics of one schema. */
export function postgresTopics(database: Database): Topics {
  const topics: Topics = {
    find: name => database.expecting({}, () => findTopic(database, name)),
    // On a connection of our own: nobody waits for the caller's transaction.
    findIn: async (_tx, name, create) =>
      (await topics.find(name)) ?? (create ? await topics.configure(name, {}) : undefined),
    list: () => database.expecting({}, () => listTopics(database)),
    configure: (name, given) => database.expecting({}, () => configureTopic(database, name, given)),
    delete: topic => deleteTopic(database, topic),
  }
  return topics
}

export const TOPIC_COLUMNS = 'id, name, uid::text as uid, config, config_version'

export type TopicRow = {
  id: number | string
  name: string
  uid: string
  config: string | StoredTopicConfig
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

async function configureTopic(database: Database, name: string, given: Partial<TopicConfig>): Promise<TopicRecord> {
  return await again(() => configureOnce(database, name, given))
}

async function configureOnce(database: Database, name: string, given: Partial<TopicConfig>): Promise<TopicRecord> {
  return await database.transaction(async client => {
    // Two processes that configure one topic do so one after the other.
    await client.query('select pg_advisory_xact_lock($1)', [lockKey(database.schema, 'topic', name)])
    const found = await client.query<TopicRow>(
      database.sql(`select ${TOPIC_COLUMNS} from tidemark.topic where name = $1 for update`),
      [name],
    )
    const [existing] = found.rows
    const hasMessages = existing !== undefined && (await isUsed(database, client, existing))
    const config = mergeTopicConfig(name, existing && storedConfig(existing), given, hasMessages)
    return existing ? await change(database, client, existing, config) : await create(database, client, name, config)
  })
}

async function create(
  database: Database,
  client: PoolClient,
  name: string,
  config: StoredTopicConfig,
): Promise<TopicRecord> {
  const uid = random52()
  const { rows } = await client.query<TopicRow>(
    database.sql(
      `insert into tidemark.topic (name, uid, semantics, config) values ($1, $2, $3, $4) returning ${TOPIC_COLUMNS}`,
    ),
    [name, uid, config.semantics, JSON.stringify(config)],
  )
  const [row] = rows
  if (!row) throw new Error(`Topic '${name}' was not stored`)
  await client.query(database.sql('select tidemark_fn.create_log($1, $2)'), [row.id, config.partitionRows])
  if (config.tracking === 'reference') {
    await client.query(database.sql('select tidemark_fn.create_track($1, $2)'), [row.id, config.partitionRows])
  }
  return toRecord(row)
}

async function change(
  database: Database,
  client: PoolClient,
  topic: TopicRow,
  config: StoredTopicConfig,
): Promise<TopicRecord> {
  if (isDeepStrictEqual(config, storedConfig(topic))) return toRecord(topic)
  // Nothing was ever published, so nobody loses anything: its groups are another kind's.
  if (config.semantics !== storedConfig(topic).semantics) {
    await client.query(database.sql('select tidemark_fn.remove_groups($1)'), [topic.id])
  }
  const { rows } = await client.query<TopicRow>(
    database.sql(
      `update tidemark.topic set config = $2, semantics = $3, config_version = config_version + 1 where id = $1 returning ${TOPIC_COLUMNS}`,
    ),
    [topic.id, JSON.stringify(config), config.semantics],
  )
  return toRecord(rows[0] ?? topic)
}

async function isUsed(database: Database, client: PoolClient, topic: TopicRow): Promise<boolean> {
  const { rows } = await client.query<{ used: boolean }>(database.sql('select tidemark_fn.last_id($1) > 0 as used'), [
    topic.id,
  ])
  return rows[0]?.used ?? false
}

export const toRecord = (row: TopicRow): TopicRecord => ({
  id: Number(row.id),
  name: row.name,
  uid: Number(row.uid),
  config: readTopicConfig(storedConfig(row)),
  configVersion: Number(row.config_version),
})

const storedConfig = ({ config }: TopicRow): StoredTopicConfig =>
  typeof config === 'string' ? (JSON.parse(config) as StoredTopicConfig) : config

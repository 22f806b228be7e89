import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { PoolClient } from 'pg'
import { TopicConflictError } from '../../errors.ts'
import { DEFAULT_TOPIC_CONFIG, type TopicConfig } from '../../topic-config.ts'
import type { TopicRecord } from '../store.ts'
import type { Database } from './database.ts'
import { lockKey } from './schema-name.ts'

const COLUMNS = 'id, name, uid::text as uid, config, config_version'

type TopicRow = {
  id: number | string
  name: string
  uid: string
  config: string | TopicConfig
  config_version: number | string
}

export async function findTopic(database: Database, name: string): Promise<TopicRecord | undefined> {
  const text = database.sql(`select ${COLUMNS} from tidemark.topic where name = $1`)
  const [row] = await database.query(text, [name], 'tidemark_topic')
  return row && toRecord(row as TopicRow)
}

export async function configureTopic(
  database: Database,
  name: string,
  given: Partial<TopicConfig>,
): Promise<TopicRecord> {
  const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return await database.transaction(async client => {
    // Two processes that configure one topic do so one after the other.
    await client.query('select pg_advisory_xact_lock($1)', [lockKey(database.schema, 'topic', name)])
    const found = await client.query<TopicRow>(
      database.sql(`select ${COLUMNS} from tidemark.topic where name = $1 for update`),
      [name],
    )
    const existing = found.rows[0] && toRecord(found.rows[0])
    if (!existing) return await create(database, client, name, { ...DEFAULT_TOPIC_CONFIG, ...settings })
    return await change(database, client, existing, { ...existing.config, ...settings })
  })
}

async function create(database: Database, client: PoolClient, name: string, config: TopicConfig): Promise<TopicRecord> {
  const uid = randomBytes(8).readBigUInt64BE() >> 4n
  const { rows } = await client.query<TopicRow>(
    database.sql(
      `insert into tidemark.topic (name, uid, semantics, config) values ($1, $2, $3, $4) returning ${COLUMNS}`,
    ),
    [name, uid.toString(), config.semantics, JSON.stringify(config)],
  )
  const [row] = rows
  if (!row) throw new Error(`Topic '${name}' was not stored`)
  await client.query(database.sql('select tidemark.create_log($1, $2)'), [row.id, config.partitionRows])
  return toRecord(row)
}

async function change(
  database: Database,
  client: PoolClient,
  topic: TopicRecord,
  config: TopicConfig,
): Promise<TopicRecord> {
  if (isDeepStrictEqual(config, topic.config)) return topic
  if (config.partitionRows !== topic.config.partitionRows) throw partitionsFixed(topic)
  if (config.semantics !== topic.config.semantics) await refuseIfUsed(database, client, topic, config)
  const { rows } = await client.query<TopicRow>(
    database.sql(
      `update tidemark.topic set config = $2, semantics = $3, config_version = config_version + 1 where id = $1 returning ${COLUMNS}`,
    ),
    [topic.id, JSON.stringify(config), config.semantics],
  )
  return rows[0] ? toRecord(rows[0]) : topic
}

function partitionsFixed({ name, config }: TopicRecord): TopicConflictError {
  return new TopicConflictError(
    name,
    `Topic '${name}' has partitions of ${config.partitionRows} rows, which is fixed when it is created. ` +
      `Leave partitionRows out, or create a new topic`,
  )
}

/** A queue's one group and a pub-sub's many do not turn into each other. */
async function refuseIfUsed(
  database: Database,
  client: PoolClient,
  topic: TopicRecord,
  config: TopicConfig,
): Promise<void> {
  const { rows } = await client.query<{ used: boolean }>(
    database.sql(
      'select tidemark.last_id($1) > 0 or exists (select from tidemark.subscription where topic_id = $1) as used',
    ),
    [topic.id],
  )
  if (!rows[0]?.used) return
  throw new TopicConflictError(
    topic.name,
    `Topic '${topic.name}' is a ${topic.config.semantics} with messages or groups and can't become a ${config.semantics}. ` +
      `Create a new topic instead`,
  )
}

function toRecord(row: TopicRow): TopicRecord {
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

import { isDeepStrictEqual } from 'node:util'
import { TopicNotFoundError, TransactionError } from '../../errors.ts'
import { random52 } from '../../payload/random-bits.ts'
import { mergeTopicConfig, readTopicConfig, type StoredTopicConfig, type TopicConfig } from '../../topic-config.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { ConfigPreviewRecord, Topics } from '../topics.ts'
import { CallerTransaction } from './caller-transaction.ts'
import type { Database } from './database.ts'
import { deleteRows, dropLeftOver } from './delete-topic.ts'
import type { Partitions } from './partitions.ts'
import { lockKey } from './schema-name.ts'
import type { Statements, Transaction } from './transaction.ts'

/** The topics of one schema. */
export function postgresTopics(database: Database, partitions: Partitions): Topics {
  const topics: Topics = {
    find: name => find(database, name),
    // On our own connection, so that nobody waits for the caller's transaction. A `tx` that is refused creates no
    // topic.
    findIn: async (tx, name, create) => {
      if (database.isSingle) return await findInTransaction(database, tx, name)
      const found = await topics.find(name)
      if (found || !create) return found
      await new CallerTransaction(tx, database).requireOpen()
      return await topics.configure(name, {})
    },
    list: () => database.read({}, listTopics),
    configure: async (name, given) => {
      const { topic, isNew } = await database.transaction({}, tx => configureTopic(tx, name, given))
      if (isNew) partitions.created(topic)
      return topic
    },
    preview: (topic, given) => database.read({ topic }, tx => previewConfig(tx, topic, given)),
    delete: async topic => {
      await database.maintenance({ topic }, tx => deleteRows(tx, topic))
      // The next deletion also drops tables left by a killed process.
      while (await database.maintenance({}, tx => dropLeftOver(tx))) {}
    },
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

/** One round trip, with the namespace check in the statement itself: a starting program looks up all its topics. */
const FIND = `
  select n.incarnation, t.id, t.name, t.uid::text as uid, t.config, t.config_version
  from tidemark.namespace as n
  left join tidemark.topic as t on t.name = $1`

async function find(database: Database, name: string): Promise<TopicRecord | undefined> {
  const [row] = await database.query(database.sql(FIND), [name], 'tidemark_find_topic')
  database.assertIncarnation(row?.incarnation)
  return row?.id ? toRecord(row as TopicRow) : undefined
}

/** The caller's transaction holds the only connection, so a topic that it can't see can't be created beside it. */
async function findInTransaction(database: Database, tx: unknown, name: string): Promise<TopicRecord> {
  const caller = new CallerTransaction(tx, database)
  const text = database.sql(`select ${TOPIC_COLUMNS} from tidemark.topic where name = $1::text`)
  const [row] = await caller.run(text, name)
  if (row) return toRecord(row as TopicRow)
  await caller.requireOpen()
  throw new TransactionError(
    `Topic '${name}' does not exist, and can't be created while your transaction holds the only connection to ` +
      `${database.location}. Create it with configureTopic('${name}') before the transaction begins`,
  )
}

export async function findTopic(statements: Statements, name: string): Promise<TopicRecord | undefined> {
  const text = statements.sql(`select ${TOPIC_COLUMNS} from tidemark.topic where name = $1`)
  const [row] = await statements.query(text, [name], 'tidemark_topic')
  return row && toRecord(row as TopicRow)
}

export async function listTopics(tx: Transaction): Promise<TopicRecord[]> {
  const rows = await tx.query(tx.sql(`select ${TOPIC_COLUMNS} from tidemark.topic order by name`))
  return rows.map(row => toRecord(row as TopicRow))
}

type Configured = { readonly topic: TopicRecord; readonly isNew: boolean }

async function configureTopic(tx: Transaction, name: string, given: Partial<TopicConfig>): Promise<Configured> {
  // Serialises processes that configure the same topic.
  await tx.query('select pg_advisory_xact_lock($1)', [lockKey(tx.schema, 'topic', name)])
  const text = tx.sql(`select ${TOPIC_COLUMNS} from tidemark.topic where name = $1 for update`)
  const [existing] = (await tx.query(text, [name])) as TopicRow[]
  const hasMessages = existing !== undefined && (await isUsed(tx, existing))
  const config = mergeTopicConfig(name, existing && storedConfig(existing), given, hasMessages)
  const topic = existing ? await change(tx, existing, config) : await create(tx, name, config)
  return { topic, isNew: existing === undefined }
}

const REMOVABLE = 'select tidemark_fn.removable_with($1, $2::jsonb) as removable'

/** What `configureTopic` would do. */
async function previewConfig(
  tx: Transaction,
  topic: TopicRecord,
  given: Partial<TopicConfig>,
): Promise<ConfigPreviewRecord> {
  const text = tx.sql(`select ${TOPIC_COLUMNS} from tidemark.topic where id = $1`)
  const [existing] = (await tx.query(text, [topic.id])) as TopicRow[]
  if (existing === undefined) throw new TopicNotFoundError(topic.name)
  const stored = mergeTopicConfig(topic.name, storedConfig(existing), given, await isUsed(tx, existing))
  const [row] = await tx.query(tx.sql(REMOVABLE), [topic.id, JSON.stringify(stored)])
  return { config: readTopicConfig(stored), removable: Number(row?.removable) }
}

async function create(tx: Transaction, name: string, config: StoredTopicConfig): Promise<TopicRecord> {
  const uid = random52()
  const [row] = await tx.query(
    tx.sql(
      `insert into tidemark.topic (name, uid, semantics, config) values ($1, $2, $3, $4) returning ${TOPIC_COLUMNS}`,
    ),
    [name, uid, config.semantics, JSON.stringify(config)],
  )
  if (!row) throw new Error(`Topic '${name}' was not stored`)
  await tx.query(tx.sql('select tidemark_fn.create_log($1, $2)'), [row.id, config.partitionRows])
  if (config.tracking === 'reference') {
    await tx.query(tx.sql('select tidemark_fn.create_track($1, $2)'), [row.id, config.partitionRows])
  }
  return toRecord(row as TopicRow)
}

async function change(tx: Transaction, topic: TopicRow, config: StoredTopicConfig): Promise<TopicRecord> {
  if (isDeepStrictEqual(config, storedConfig(topic))) return toRecord(topic)
  // Nothing was ever published, so nobody loses anything by removing groups of the other kind.
  if (config.semantics !== storedConfig(topic).semantics) {
    await tx.query(tx.sql('select tidemark_fn.remove_groups($1)'), [topic.id])
  }
  const [row] = await tx.query(
    tx.sql(
      `update tidemark.topic set config = $2, semantics = $3, config_version = config_version + 1 where id = $1 returning ${TOPIC_COLUMNS}`,
    ),
    [topic.id, JSON.stringify(config), config.semantics],
  )
  return toRecord(row ? (row as TopicRow) : topic)
}

async function isUsed(tx: Transaction, topic: TopicRow): Promise<boolean> {
  const [row] = await tx.query(tx.sql('select tidemark_fn.last_id($1) > 0 as used'), [topic.id])
  return row?.used === 't'
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

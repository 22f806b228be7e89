import type { PoolClient } from 'pg'
import type { TopicRecord } from '../store.ts'
import type { Database } from './database.ts'
import { codeOf, LOCK_TIMEOUT_MS } from './database-errors.ts'

/** What another process that finishes the same drop, or somebody's lock, makes of ours. */
const NOT_NOW = new Set(['55P03', '55000', '55006', '42P01', '42P07', '40P01', '57014'])

type State = 'attached' | 'half detached' | 'detached' | 'gone'

/**
 * Takes a partition that begin_drop has decided on out of the log, and out of the bitmaps' table, and drops it. Concurrently:
 * publishes and claims wait for nothing, only this waits, for whoever reads the log in a transaction. It may be killed or
 * time out anywhere and be called again. Gives the number of messages removed; null where it is not done, or was
 * another's doing.
 */
export async function finishDrop(database: Database, topic: TopicRecord, number: number): Promise<number | null> {
  try {
    for (const table of ['log', 'track']) await dropPartition(database, `${table}_${topic.id}`, number)
  } catch (error) {
    if (!(error instanceof Error) || !NOT_NOW.has(codeOf(error.cause))) throw error
    database.logger.debug({ topic: topic.name, partition: number, err: error }, 'a partition can not be dropped now')
    return null
  }
  const text = database.sql('delete from tidemark.partition where topic_id = $1 and number = $2 returning rows')
  const [row] = await database.query(text, [topic.id, number])
  return row ? Number(row.rows) : null
}

async function dropPartition(database: Database, table: string, number: number): Promise<void> {
  const parent = database.sql(`tidemark.${table}`)
  const partition = `${parent}_p${number}`
  const state = await stateOf(database, partition)
  if (state === 'gone') return
  if (!database.keepsSessions) return await dropAtOnce(database, parent, partition, state)
  await database.session(async client => {
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await detach(client, parent, partition, state)
    await client.query(`drop table if exists ${partition}`)
  })
}

async function detach(client: PoolClient, parent: string, partition: string, state: State): Promise<void> {
  if (state === 'detached') return
  const how = state === 'attached' ? 'concurrently' : 'finalize'
  await client.query(`alter table ${parent} detach partition ${partition} ${how}`)
}

/** Behind a pooler nothing but a transaction is ours for long. It locks the log, so it waits for that very shortly. */
async function dropAtOnce(database: Database, parent: string, partition: string, state: State): Promise<void> {
  await database.transaction(async client => {
    await client.query("set local lock_timeout = '500ms'")
    if (state === 'attached') await client.query(`alter table ${parent} detach partition ${partition}`)
    if (state === 'half detached') await client.query(`alter table ${parent} detach partition ${partition} finalize`)
    await client.query(`drop table if exists ${partition}`)
  })
}

async function stateOf(database: Database, partition: string): Promise<State> {
  const [row] = await database.query(
    `select i.inhrelid is not null as attached, coalesce(i.inhdetachpending, false) as pending
     from pg_class as c left join pg_inherits as i on i.inhrelid = c.oid
     where c.oid = to_regclass($1)`,
    [partition],
  )
  if (!row) return 'gone'
  if (row.pending === 't') return 'half detached'
  return row.attached === 't' ? 'attached' : 'detached'
}

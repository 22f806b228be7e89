import type { PoolClient } from 'pg'
import type { TopicRecord } from '../topic-record.ts'
import { type Database, MAINTENANCE_TIMEOUT_MS } from './database.ts'
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
  const tables = ['log', 'track'].map(table => database.sql(`tidemark.${table}_${topic.id}`))
  const partitions = tables.map(parent => ({ parent, partition: `${parent}_p${number}` }))
  try {
    if (database.keepsSessions) await database.session(client => dropConcurrently(client, partitions))
    else await database.transaction(client => dropAtOnce(client, partitions), MAINTENANCE_TIMEOUT_MS)
  } catch (error) {
    if (!(error instanceof Error) || !NOT_NOW.has(codeOf(error.cause))) throw error
    database.logger.debug({ topic: topic.name, partition: number, err: error }, 'a partition can not be dropped now')
    return null
  }
  const text = database.sql('delete from tidemark.partition where topic_id = $1 and number = $2 returning rows')
  const [row] = await database.work(text, [topic.id, number])
  return row ? Number(row.rows) : null
}

type Part = { readonly parent: string; readonly partition: string }

async function dropConcurrently(client: PoolClient, parts: readonly Part[]): Promise<void> {
  // PostgreSQL flushes a drop by itself; what a crash takes of the rest is simply done again.
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}; set synchronous_commit = off`)
  for (const part of parts) await drop(client, part, 'concurrently')
}

/** Behind a pooler nothing but a transaction is ours for long. It locks the log, so it waits for that very shortly. */
async function dropAtOnce(client: PoolClient, parts: readonly Part[]): Promise<void> {
  await client.query("set local lock_timeout = '500ms'")
  for (const part of parts) await drop(client, part, '')
}

async function drop(client: PoolClient, { parent, partition }: Part, how: 'concurrently' | ''): Promise<void> {
  const state = await stateOf(client, partition)
  if (state === 'gone') return
  const detach = `alter table ${parent} detach partition ${partition}`
  if (state === 'attached') await client.query(`${detach} ${how}`)
  if (state === 'half detached') await client.query(`${detach} finalize`)
  await client.query(`drop table if exists ${partition}`)
}

async function stateOf(client: PoolClient, partition: string): Promise<State> {
  const { rows } = await client.query<{ attached: boolean; pending: boolean }>(
    `select i.inhrelid is not null as attached, coalesce(i.inhdetachpending, false) as pending
     from pg_class as c left join pg_inherits as i on i.inhrelid = c.oid
     where c.oid = to_regclass($1)`,
    [partition],
  )
  const [row] = rows
  if (row === undefined) return 'gone'
  if (row.pending) return 'half detached'
  return row.attached ? 'attached' : 'detached'
}

import type { TopicRecord } from '../topic-record.ts'
import type { Database } from './database.ts'
import { codeOf, LOCK_TIMEOUT_MS } from './database-errors.ts'
import type { SingleConnection, Transaction } from './transaction.ts'

/** Errors caused by another process that finishes the same drop, or by somebody's lock. */
const NOT_NOW = new Set(['55P03', '55000', '55006', '42P01', '42P07', '40P01', '57014'])

type State = 'attached' | 'half detached' | 'detached' | 'gone'

/**
 * Detaches a partition that begin_drop has decided on from the log and from the bitmap table, and drops it. It detaches
 * concurrently: publishes and claims wait for nothing; only this waits, for transactions that read the log. It may be
 * killed or time out anywhere and be called again. Returns the number of messages removed; null if it is not finished,
 * or another process finished it.
 */
export async function finishDrop(database: Database, topic: TopicRecord, number: number): Promise<number | null> {
  const tables = ['log', 'track'].map(table => database.sql(`tidemark.${table}_${topic.id}`))
  const partitions = tables.map(parent => ({ parent, partition: `${parent}_p${number}` }))
  try {
    if (database.hasSessions) await database.session({ topic }, connection => dropConcurrently(connection, partitions))
    else await database.maintenance({ topic }, tx => dropAtOnce(tx, partitions))
  } catch (error) {
    if (!(error instanceof Error) || !NOT_NOW.has(codeOf(error.cause))) throw error
    database.logger.debug({ topic: topic.name, partition: number, err: error }, 'a partition cannot be dropped now')
    return null
  }
  return await database.maintenance({ topic }, tx => forgetPartition(tx, topic, number))
}

async function forgetPartition(tx: Transaction, topic: TopicRecord, number: number): Promise<number | null> {
  const text = tx.sql('delete from tidemark.partition where topic_id = $1 and number = $2 returning rows')
  const [row] = await tx.query(text, [topic.id, number])
  return row ? Number(row.rows) : null
}

type Part = { readonly parent: string; readonly partition: string }

async function dropConcurrently(connection: SingleConnection, parts: readonly Part[]): Promise<void> {
  // PostgreSQL flushes a drop by itself; anything else lost in a crash is simply done again.
  await connection.exec(`set lock_timeout = ${LOCK_TIMEOUT_MS}; set synchronous_commit = off`)
  for (const part of parts) await drop(connection, part, 'concurrently')
}

/**
 * Behind a pooler only a transaction is exclusively ours. It locks the log, so it waits for that lock only very
 * briefly.
 */
async function dropAtOnce(tx: Transaction, parts: readonly Part[]): Promise<void> {
  await tx.exec("set local lock_timeout = '500ms'")
  for (const part of parts) await drop(tx, part, '')
}

async function drop(
  connection: SingleConnection,
  { parent, partition }: Part,
  how: 'concurrently' | '',
): Promise<void> {
  const state = await stateOf(connection, partition)
  if (state === 'gone') return
  const detach = `alter table ${parent} detach partition ${partition}`
  if (state === 'attached') await connection.exec(`${detach} ${how}`)
  if (state === 'half detached') await connection.exec(`${detach} finalize`)
  await connection.exec(`drop table if exists ${partition}`)
}

async function stateOf(connection: SingleConnection, partition: string): Promise<State> {
  const [row] = await connection.query(
    `select i.inhrelid is not null as attached, coalesce(i.inhdetachpending, false) as pending
     from pg_class as c left join pg_inherits as i on i.inhrelid = c.oid
     where c.oid = to_regclass($1)`,
    [partition],
  )
  if (row === undefined) return 'gone'
  if (row.pending === 't') return 'half detached'
  return row.attached === 't' ? 'attached' : 'detached'
}

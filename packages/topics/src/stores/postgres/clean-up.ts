import type { CleanUpStep } from '../log.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Database } from './database.ts'
import { finishDrop } from './partition-drops.ts'
import type { Transaction } from './transaction.ts'

const NOTHING: CleanUpStep = { removed: 0, partitionsDropped: 0, lost: [], more: false }

/**
 * Does one stage of one partition (see functions/clean-up.sql): first a drop in progress, then the next partition to
 * seal, then the next to drop. Each step is its own transaction.
 */
export async function cleanUp(database: Database, topic: TopicRecord): Promise<CleanUpStep> {
  const step = <T>(work: (tx: Transaction, topic: TopicRecord) => Promise<T>): Promise<T> =>
    database.maintenance({ topic }, tx => work(tx, topic))
  const begun = await step(findBegun)
  const finished = begun !== null && (await drop(database, topic, begun, []))
  if (finished) return finished
  // The first takes its transaction id at the right moment, the second waits for it.
  await step(noteFull)
  if (await step(sealNext)) return { ...NOTHING, more: true }
  if (begun === null) {
    await step(moveIdleWindows)
    await step(noteUnclaimed)
    const begins = await step(beginDrop)
    if (begins) return (await drop(database, topic, begins.number, begins.lost)) ?? { ...NOTHING, lost: begins.lost }
  }
  return { ...NOTHING, more: await step(rotate) }
}

async function findBegun(tx: Transaction, topic: TopicRecord): Promise<number | null> {
  const text = tx.sql(`
    select number from tidemark.partition
    where topic_id = $1 and dropping_since is not null
    order by number limit 1`)
  const [row] = await tx.query(text, [topic.id])
  return row ? Number(row.number) : null
}

async function noteFull(tx: Transaction, topic: TopicRecord): Promise<void> {
  await tx.query(tx.sql('select tidemark_fn.note_full($1)'), [topic.id])
}

async function sealNext(tx: Transaction, topic: TopicRecord): Promise<boolean> {
  const [row] = await tx.query(tx.sql('select tidemark_fn.seal_next($1) as sealed'), [topic.id])
  return row?.sealed === 't'
}

async function moveIdleWindows(tx: Transaction, topic: TopicRecord): Promise<void> {
  await tx.query(tx.sql('select tidemark_fn.move_idle_windows($1)'), [topic.id])
}

async function noteUnclaimed(tx: Transaction, topic: TopicRecord): Promise<void> {
  await tx.query(tx.sql('select tidemark_fn.note_unclaimed($1)'), [topic.id])
}

type Begun = { readonly number: number; readonly lost: CleanUpStep['lost'] }

async function beginDrop(tx: Transaction, topic: TopicRecord): Promise<Begun | null> {
  const [row] = await tx.query(tx.sql('select * from tidemark_fn.begin_drop($1)'), [topic.id])
  return row?.number ? { number: Number(row.number), lost: JSON.parse(row.lost ?? '[]') } : null
}

async function rotate(tx: Transaction, topic: TopicRecord): Promise<boolean> {
  const [row] = await tx.query(tx.sql('select tidemark_fn.rotate($1) as rotated'), [topic.id])
  return row?.rotated === 't'
}

/** undefined if it can't be finished now, or another process has finished it. */
async function drop(
  database: Database,
  topic: TopicRecord,
  number: number,
  lost: CleanUpStep['lost'],
): Promise<CleanUpStep | undefined> {
  const removed = await finishDrop(database, topic, number)
  return removed === null ? undefined : { removed, partitionsDropped: 1, lost, more: true }
}

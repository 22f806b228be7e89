import type { CleanUpStep } from '../log.ts'
import type { TopicRecord } from '../topic-record.ts'
import type { Database } from './database.ts'
import { finishDrop } from './partition-drops.ts'

const NOTHING: CleanUpStep = { removed: 0, partitionsDropped: 0, lost: [], more: false }

/**
 * One stage of one partition (see functions/clean-up.sql): a drop that was begun first, then the next to be sealed,
 * then the next that may go.
 */
export async function cleanUp(database: Database, topic: TopicRecord): Promise<CleanUpStep> {
  const begun = await findBegun(database, topic)
  const finished = begun !== null && (await drop(database, topic, begun, []))
  if (finished) return finished
  if (await sealNext(database, topic)) return { ...NOTHING, more: true }
  if (begun === null) {
    const begins = await beginDrop(database, topic)
    if (begins) return (await drop(database, topic, begins.number, begins.lost)) ?? { ...NOTHING, lost: begins.lost }
  }
  return { ...NOTHING, more: await ask(database, 'rotate', topic) }
}

async function findBegun(database: Database, topic: TopicRecord): Promise<number | null> {
  const text = database.sql(`
    select number from tidemark.partition
    where topic_id = $1 and dropping_since is not null
    order by number limit 1`)
  const [row] = await database.work(text, [topic.id])
  return row ? Number(row.number) : null
}

async function sealNext(database: Database, topic: TopicRecord): Promise<boolean> {
  // Each in a transaction of its own: the first takes its transaction's id at the right moment, the second waits for it.
  await database.work(database.sql('select tidemark_fn.note_full($1)'), [topic.id])
  return await ask(database, 'seal_next', topic)
}

type Begun = { readonly number: number; readonly lost: CleanUpStep['lost'] }

async function beginDrop(database: Database, topic: TopicRecord): Promise<Begun | null> {
  await database.work(database.sql('select tidemark_fn.move_idle_windows($1)'), [topic.id])
  await database.work(database.sql('select tidemark_fn.note_unclaimed($1)'), [topic.id])
  const [row] = await database.work(database.sql('select * from tidemark_fn.begin_drop($1)'), [topic.id])
  return row?.number ? { number: Number(row.number), lost: JSON.parse(row.lost ?? '[]') } : null
}

/** undefined where it can't be finished now, or another process has. */
async function drop(
  database: Database,
  topic: TopicRecord,
  number: number,
  lost: CleanUpStep['lost'],
): Promise<CleanUpStep | undefined> {
  const removed = await finishDrop(database, topic, number)
  return removed === null ? undefined : { removed, partitionsDropped: 1, lost, more: true }
}

async function ask(database: Database, verb: 'seal_next' | 'rotate', topic: TopicRecord): Promise<boolean> {
  const [row] = await database.work(database.sql(`select tidemark_fn.${verb}($1) as done`), [topic.id])
  return row?.done === 't'
}

import type { GroupDescription, TopicStorage } from '../inspection.ts'
import type { TopicRecord } from '../topic-record.ts'
import { ROW_BYTES } from './bounded-rows.ts'
import { removable } from './facts.ts'
import { boundsOf, createdAt } from './log-rows.ts'
import { rowsOf } from './rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Number of messages that are measured, evenly spread over the log, so that the sample is representative. */
const SAMPLES = 16
/** Size of a row beside its payload, headers and key: id, time, salt, lengths, and its share of the pages. */
const ROW_OVERHEAD = 40

/** SQLite does not tell the size of a table without reading the whole file, so a few messages stand for the others. */
export function topicStorage(tx: Transaction, topic: TopicRecord, groups: readonly GroupDescription[]): TopicStorage {
  const { first_id, next_id } = boundsOf(tx, topic)
  return {
    removable: removable(tx, topic, groups),
    bytes: Math.round((next_id - first_id) * (meanBytes(tx, topic.id, first_id, next_id - 1) + ROW_OVERHEAD)),
    oldestAt: createdAt(tx, topic.id, first_id) ?? null,
  }
}

function meanBytes(tx: Transaction, topicId: number, first: number, last: number): number {
  if (last < first) return 0
  const step = (last - first) / (SAMPLES - 1)
  const ids = [...new Set(Array.from({ length: SAMPLES }, (_, n) => Math.round(first + n * step)))]
  const sizes = rowsOf<{ bytes: number }>(
    tx.prepare(`select ${ROW_BYTES} as bytes from ${logTable(topicId)} where id in (select value from json_each(?))`),
    JSON.stringify(ids),
  )
  return sizes.reduce((sum, { bytes }) => sum + bytes, 0) / Math.max(1, sizes.length)
}

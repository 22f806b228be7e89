import { browseBySteps } from '../browse-steps.ts'
import type { BrowsePage, BrowseQuery, Log } from '../log.ts'
import type { TopicRecord } from '../topic-record.ts'
import { toRawMessage } from './bounded-rows.ts'
import { find, rangeOf, readMatching, tail } from './browse.ts'
import { inCallersTransaction } from './caller-transaction.ts'
import { hasRemovable, NOTHING, removeSome } from './clean-up.ts'
import type { Connection } from './connection.ts'
import { insertMessages } from './publish.ts'
import type { Transaction } from './transaction.ts'

/** The logs of one file. */
export function sqliteLog(connection: Connection): Log {
  const publishSync: NonNullable<Log['publishSync']> = (topic, messages, tx) =>
    inCallersTransaction(connection, tx, prepare => insertMessages(prepare, topic, messages))
  return {
    publish: async (topic, messages, tx) => {
      if (tx !== undefined) return publishSync(topic, messages, tx)
      return await connection.write(true, tx => insertMessages(sql => tx.prepare(sql), topic, messages))
    },
    publishSync,
    probe: () => connection.write(true, probe),
    find: (topic, messageId) => connection.read(tx => find(tx, topic, messageId), { topic }),
    browse: (topic, query) => browse(connection, topic, query),
    tail: (topic, place, limit, bounds = {}) => connection.read(tx => tail(tx, topic, place, limit, bounds), { topic }),
    cleanUp: async (topic, batchSize) => {
      // Checks without writing first, so that a topic with nothing to remove costs no write.
      const found = await connection.read(tx => hasRemovable(tx, topic, batchSize), { topic })
      if (!found) return NOTHING
      // If a power failure undoes it, it is simply done again.
      return await connection.write(false, tx => removeSome(tx, topic, batchSize), { topic })
    },
  }
}

/** Exercises what a publish waits for: the write lock, a changed page of the topics table, and the sync. */
function probe(tx: Transaction): void {
  tx.prepare('update tidemark_topic set next_id = next_id where id = (select min(id) from tidemark_topic)').run()
}

/** Reads by id, in steps; key and type are compared row by row. */
async function browse(connection: Connection, topic: TopicRecord, query: BrowseQuery): Promise<BrowsePage> {
  const range = await connection.read(tx => rangeOf(tx, topic, query), { topic })
  return await browseBySteps(query, range, async step => {
    const { rows, bytes, isCut } = await connection.read(tx => readMatching(tx, topic, query, step), { topic })
    return { messages: rows.map(toRawMessage), bytes, isCut }
  })
}

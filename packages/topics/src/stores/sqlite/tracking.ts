import type { TopicRecord } from '../topic-record.ts'
import type { ReferenceTracking } from '../tracking.ts'
import { clearBits, hasBitsToClear } from './clear-bits.ts'
import { completePage, orphanRange } from './complete-orphans.ts'
import { completion } from './completion.ts'
import type { Connection } from './connection.ts'
import { fillTracking } from './fill-tracking.ts'
import { switchTracking } from './switch-tracking.ts'

const ORPHANS_PER_STEP = 10_000

/** The bitmaps of one file's reference topics. */
export function sqliteTracking(connection: Connection): ReferenceTracking {
  return {
    switch: async (topic, tracking) => {
      for (;;) {
        const record = await connection.writeUnlessHeld(tx => switchTracking(tx, topic, tracking), { topic })
        if (record) return record
      }
    },
    fill: (topic, limit) => connection.write(true, tx => fillTracking(tx, topic, limit), { topic }),
    clearBits: async limit => {
      if (!(await connection.read(hasBitsToClear))) return { cleared: 0, more: false }
      return await connection.write(true, tx => clearBits(tx, limit))
    },
    completion: (topic, query) => connection.read(tx => completion(tx, topic, query), { topic }),
    completeOrphans: (topic, olderThanMs) => completeOrphans(connection, topic, olderThanMs),
  }
}

/** Runs in steps, so that nobody waits long. */
async function completeOrphans(connection: Connection, topic: TopicRecord, olderThanMs: number): Promise<number> {
  const { first, end } = await connection.read(tx => orphanRange(tx, topic, olderThanMs), { topic })
  let count = 0
  for (let from = first; from < end; from += ORPHANS_PER_STEP) {
    const to = Math.min(from + ORPHANS_PER_STEP, end) - 1
    count += await connection.write(true, tx => completePage(tx, topic, from, to), { topic })
  }
  return count
}

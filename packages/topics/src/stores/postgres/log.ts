import type { Log } from '../log.ts'
import { probe } from './backfills.ts'
import { browse, find, tail } from './browse.ts'
import { cleanUp } from './clean-up.ts'
import type { Database } from './database.ts'
import type { DedupePruner } from './dedupe.ts'
import type { Partitions } from './partitions.ts'
import { LogWriter } from './publish.ts'
import type { WakeUps } from './wake-ups.ts'

/** The logs of one schema. */
export function postgresLog(database: Database, { partitions, pruner, wakeUps }: LogParts): Log {
  const writer = new LogWriter(database, partitions)
  return {
    publish: async (topic, messages, tx) => {
      const published = await writer.publish(topic, messages, tx)
      // Inside a caller's transaction nothing is visible yet.
      if (tx === undefined) wakeUps.send(topic.id)
      if (messages.some(message => message.messageId !== null)) pruner.touch(topic)
      return published
    },
    // One round trip like a publish, hence without the namespace check; it writes to no table.
    probe: () => probe(database),
    find: (topic, messageId) => database.read({ topic }, tx => find(tx, topic, messageId)),
    browse: (topic, query) => database.read({ topic }, tx => browse(tx, topic, query)),
    tail: (topic, place, limit, bounds = {}) => database.read({ topic }, tx => tail(tx, topic, place, limit, bounds)),
    // Removes a whole partition at a time, so the batch size in rows does not apply.
    cleanUp: async topic => {
      const step = await cleanUp(database, topic)
      if (!step.more) await partitions.keepAhead(topic)
      return step
    },
  }
}

export type LogParts = {
  readonly partitions: Partitions
  readonly pruner: DedupePruner
  readonly wakeUps: WakeUps
}

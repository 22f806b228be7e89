import type { Inspection } from '../inspection.ts'
import type { Database } from './database.ts'
import { unsubscribedTopics } from './dead-groups.ts'
import { describeTopic } from './describe.ts'
import { examine } from './examine.ts'
import { readLanes } from './lanes.ts'
import { messageStates } from './message-states.ts'
import { sizeOf } from './size.ts'
import { readStats } from './stats.ts'

/** Inspection of one schema, for operators. */
export function postgresInspection(database: Database): Inspection {
  return {
    describe: topic => database.read({ topic }, tx => describeTopic(tx, topic)),
    lanes: (topic, query) => readLanes(database, topic, query),
    messageStates: (topic, id) => database.read({ topic }, tx => messageStates(tx, topic, id)),
    stats: (most, withStorage) => readStats(database, most, withStorage),
    examine: most => examine(database, most),
    unsubscribedTopics: () => database.read({}, unsubscribedTopics),
    size: () => database.read({}, sizeOf),
    // Everything uses the server's clock.
    clock: async () => null,
    poolUse: () => database.poolUse(),
  }
}

import type { Inspection } from '../inspection.ts'
import type { Database } from './database.ts'
import { unsubscribedTopics } from './dead-groups.ts'
import { describeTopic } from './describe.ts'
import { topicFacts } from './facts.ts'
import { horizonHolders } from './horizon.ts'
import { readLanes } from './lanes.ts'
import { messageStates } from './message-states.ts'
import { sizeOf } from './size.ts'
import { readStats, whileLogsGo } from './stats.ts'

/** Inspection of one schema, for operators. */
export function postgresInspection(database: Database): Inspection {
  return {
    describe: topic => database.transaction({ topic }, tx => describeTopic(tx, topic)),
    lanes: (topic, query) => database.transaction({ topic }, tx => readLanes(tx, topic, query)),
    messageStates: (topic, id) => database.transaction({ topic }, tx => messageStates(tx, topic, id)),
    facts: topic => database.transaction({ topic }, tx => topicFacts(tx, topic)),
    stats: (most, withStorage) => whileLogsGo(() => database.transaction({}, tx => readStats(tx, most, withStorage))),
    unsubscribedTopics: () => database.transaction({}, unsubscribedTopics),
    size: () => database.transaction({}, sizeOf),
    // Everything uses the server's clock.
    clock: async () => null,
    horizonHolders: () => horizonHolders(database),
    poolUse: () => database.poolUse(),
  }
}

import type { Inspection } from '../inspection.ts'
import type { Database } from './database.ts'
import { unsubscribedTopics } from './dead-groups.ts'
import { describeTopic } from './describe.ts'
import { topicFacts } from './facts.ts'
import { horizonHolders } from './horizon.ts'
import { sizeOf } from './size.ts'
import { readStats } from './stats.ts'

/** What one schema tells operators. */
export function postgresInspection(database: Database): Inspection {
  return {
    describe: topic => database.expecting({ topic }, () => describeTopic(database, topic)),
    facts: topic => database.expecting({ topic }, () => topicFacts(database, topic)),
    stats: most => database.expecting({}, () => readStats(database, most)),
    unsubscribedTopics: () => database.expecting({}, () => unsubscribedTopics(database)),
    size: () => database.expecting({}, () => sizeOf(database)),
    // The server's own clock is used for everything.
    clock: async () => null,
    horizonHolders: () => horizonHolders(database),
    poolUse: () => database.poolUse(),
  }
}

import type { Inspection } from '../inspection.ts'
import type { Connection } from './connection.ts'
import { unsubscribedTopics } from './dead-groups.ts'
import { describeTopic } from './describe.ts'
import { examine } from './examine.ts'
import { readLanes } from './lanes.ts'
import { messageStates } from './message-states.ts'
import { sizeOf } from './size.ts'
import { readStats } from './stats.ts'

/** Inspection of one file, for operators. */
export function sqliteInspection(connection: Connection): Inspection {
  return {
    describe: topic => connection.read(tx => describeTopic(tx, topic), { topic }),
    lanes: (topic, query) => connection.read(tx => readLanes(tx, topic, query), { topic }),
    messageStates: (topic, id) => connection.read(tx => messageStates(tx, topic, id), { topic }),
    stats: (most, withStorage) => connection.read(tx => readStats(tx, most, withStorage)),
    examine: most => connection.read(tx => examine(tx, most)),
    unsubscribedTopics: () => connection.read(unsubscribedTopics),
    size: () => connection.read(sizeOf),
    clock: () => connection.clock(),
    poolUse: () => ({ size: 1, busy: 0, waiting: connection.waiting }),
  }
}

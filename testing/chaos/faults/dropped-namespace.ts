import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseError } from 'tidemark'
import { until } from '../../until.ts'
import { DOOMED_POSTS } from '../fleet.ts'
import { now } from '../journal.ts'
import { openNamespace } from '../open-namespace.ts'
import type { Place } from '../place.ts'
import { SILENT } from '../silent.ts'
import { DOOMED } from '../world.ts'
import { EVERY, type Fault } from './fault.ts'

const LIFE_MS = 1_500
/** A transaction of a silent connection can be in the way until the server ends it after a minute. */
const PATIENCE_MS = 180_000

export const droppedNamespace: Fault = {
  name: 'dropped-namespace',
  about: 'a namespace is dropped under its processes, which open the new one of the same name',
  engines: EVERY,
  lane: 'processes',
  reaches: [],
  async inject({ place, fleet, journal }) {
    // Everything that was ever published there is gone with it.
    const posts = DOOMED_POSTS.filter(({ name }) => !fleet.names.includes(name))
    if (posts.length > 0) await place.turns.take(async () => fleet.start(posts))
    await delay(LIFE_MS)
    try {
      await until(() => place.turns.take(() => isDropped(place)), {
        what: 'the namespace to be dropped',
        timeout: PATIENCE_MS,
      })
    } finally {
      journal.write({ what: 'loss', fault: 'dropped-namespace', scope: `${DOOMED}/`, from: 0, to: now() })
    }
  },
}

/** A fault of the other lane may be in the way. */
async function isDropped({ engine, directUrl }: Place): Promise<boolean> {
  try {
    const options = { namespace: DOOMED, logger: SILENT, maintenance: false }
    await using tm = await openNamespace(engine, directUrl, options)
    await tm.dropNamespace()
    return true
  } catch (error) {
    if (error instanceof DatabaseError) return false
    throw error
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../../until.ts'
import { openNamespace } from '../open-namespace.ts'
import type { Place } from '../place.ts'
import { SILENT } from '../silent.ts'
import { DEATH_MS, LEASE_MS, LONGEST_SWEEP_MS } from '../world.ts'
import { EVERY, type Fault } from './fault.ts'

const LONGEST_DEATH_MS = 60_000
/** The other of the two takes over what the first held. */
const TWINS = ['groups-1', 'groups-2']
const OTHERS = ['readers', 'puller', 'operator', 'publisher-1']

export const freeze: Fault = {
  name: 'freeze',
  about: 'SIGSTOP of two processes for longer than a lease, so that they go on with messages of others',
  engines: EVERY,
  lane: 'processes',
  reaches: ['take-overs', 'stale settlements'],
  async inject({ fleet, paths }, random) {
    const victims = [random.pick(TWINS), random.pick(OTHERS)]
    const takenOver = paths.expect('take-overs')
    for (const victim of victims) fleet.signal(victim, 'SIGSTOP')
    await delay(LEASE_MS + LONGEST_SWEEP_MS + random.below(500))
    await takenOver()
    const stale = paths.expect('stale settlements')
    for (const victim of victims) fleet.signal(victim, 'SIGCONT')
    await stale()
  },
}

export const death: Fault = {
  name: 'death',
  about: 'SIGSTOP of the only process of a group until the group is dead; it comes back',
  engines: EVERY,
  lane: 'processes',
  reaches: ['resurrections'],
  async inject({ fleet, place }) {
    fleet.signal('mortal', 'SIGSTOP')
    try {
      await until(() => place.turns.take(() => isDead(place)), {
        what: 'the group to be found dead',
        timeout: LONGEST_DEATH_MS,
      })
    } catch {
      // The faults of the other lane kept everybody from looking; the report says that no group died.
    } finally {
      fleet.signal('mortal', 'SIGCONT')
    }
  },
}

async function isDead({ engine, directUrl }: Place): Promise<boolean> {
  await delay(DEATH_MS / 3)
  try {
    await using tm = await openNamespace(engine, directUrl, { logger: SILENT, maintenance: false })
    return (await tm.admin.groups('orders')).some(({ group, status }) => group === 'mortal' && status === 'DEAD')
  } catch {
    return false // The database is away as well.
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import { EVERY, type Fault } from './fault.ts'

const HOUR = 3_600_000

export const clock: Fault = {
  name: 'clock',
  about: 'the wall clock of a process jumps by up to ten days, forward or back, and is right again later',
  engines: EVERY,
  lane: 'processes',
  reaches: [],
  async inject({ fleet }, random) {
    const victim = random.pick(fleet.names)
    const ms = (random.chance(0.5) ? 1 : -1) * (HOUR + random.below(240 * HOUR))
    fleet.tell(victim, { order: 'clock', ms })
    await delay(1_000 + random.below(2_000))
    fleet.tell(victim, { order: 'clock', ms: 0 })
  },
}

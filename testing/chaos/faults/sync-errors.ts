import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from './fault.ts'

export const syncErrors: Fault = {
  name: 'sync-errors',
  about: 'SQLite: syncs of three processes fail with EIO after the commit',
  engines: ['sqlite'],
  lane: 'processes',
  reaches: ['unknown outcomes'],
  async inject({ fleet, paths }, random) {
    const names = ['publisher-1', 'publisher-2', random.pick(fleet.names)]
    const unknown = paths.expect('unknown outcomes')
    for (const name of names) fleet.tell(name, { order: 'fail-syncs', count: 1 + random.below(6) })
    await delay(2_000)
    await unknown()
    for (const name of names) fleet.tell(name, { order: 'fail-syncs', count: 0 })
  },
}

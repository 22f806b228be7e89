import { DEATH_MS } from '../world.ts'
import { runGroups } from './groups.ts'

await runGroups([{ topic: 'orders', group: 'mortal', heartbeatMs: DEATH_MS }])

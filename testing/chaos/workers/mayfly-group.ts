import { runGroups } from './groups.ts'

await runGroups([{ topic: 'brief', group: 'mayfly' }])

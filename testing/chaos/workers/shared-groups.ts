import { runGroups } from './groups.ts'

await runGroups([
  { topic: 'orders', group: 'email' },
  { topic: 'orders', group: 'metrics' },
  { topic: 'jobs', group: '' },
  { topic: 'audit', group: 'late' },
])

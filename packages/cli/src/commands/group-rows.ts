import type { GroupHealth } from 'tidemark'
import { ago } from '../output/units.ts'

export const GROUP_HEADINGS = [
  'topic',
  'group',
  'status',
  'healthy',
  'lag',
  'oldest',
  'in flight',
  'retries',
  'dead letters',
  'processed',
  'failed',
  'lost',
  'heard of',
] as const

export const groupRow = (group: GroupHealth): (string | number)[] => [
  group.topic,
  group.group === '' ? '(queue)' : group.group,
  group.status,
  group.healthy ? 'yes' : 'no',
  group.lagMessages,
  group.lagMs === 0 ? '' : ago(group.lagMs),
  group.inFlight,
  group.retries,
  group.deadLetters,
  group.processed,
  group.failed,
  group.lost,
  `${ago(group.sinceHeartbeatMs)} ago`,
]

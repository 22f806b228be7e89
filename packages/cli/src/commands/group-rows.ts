import type { ConsumerHealth, GroupHealth, WaitingRetry } from 'tidemark'
import { payloadText } from '../output/message.ts'
import { ago } from '../output/units.ts'

const SHOWN_ERROR = 60

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
  'last heartbeat',
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

export const CONSUMER_HEADINGS = [
  'group',
  'consumer',
  'process',
  'processed',
  'failed',
  'p50 ms',
  'p95 ms',
  'p99 ms',
  'last active',
  'last heartbeat',
] as const

export const consumerRow = (consumer: ConsumerHealth): (string | number)[] => [
  consumer.group === '' ? '(queue)' : consumer.group,
  consumer.consumer,
  consumer.instance,
  consumer.processed,
  consumer.failed,
  ...[consumer.handler.p50, consumer.handler.p95, consumer.handler.p99].map(ms => ms.toFixed(1)),
  consumer.lastActiveAt === null ? '' : consumer.lastActiveAt.toISOString(),
  consumer.reportedAt.toISOString(),
]

export const RETRY_HEADINGS = ['id', 'message', 'key', 'attempts', 'due', 'suspect', 'error'] as const

export const retryRow = (retry: WaitingRetry): (string | number)[] => [
  retry.id,
  retry.messageId,
  retry.key ?? '',
  retry.attempts,
  retry.dueAt.toISOString(),
  retry.suspect ? 'yes' : '',
  retry.error === null ? '' : payloadText(`${retry.error.name}: ${retry.error.message}`).slice(0, SHOWN_ERROR),
]

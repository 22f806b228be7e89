import { type CheckedOptions, duration, type OptionTable, whole } from '../../config/option-table.ts'
import type { RetryOptions } from '../persistence/attempts.ts'

/** Retries of announcements, for batches and metadata alike. */
export const NOTIFICATION_OPTIONS = {
  notificationRetries: whole({
    says: 'Retries of a refused announcement before it is left to the reconciler. While the topic database is unavailable the service waits, without counting.',
    min: 0,
    max: 1_000,
    default: 3,
  }),
  initialNotificationBackoff: duration({
    says: 'Delay before the first retry of an announcement; doubles with each retry.',
    default: '200ms',
  }),
  maxNotificationBackoff: duration({ says: 'Maximum delay between retries of an announcement.', default: '5s' }),
} as const satisfies OptionTable

export const notifyRetryOf = (options: CheckedOptions<typeof NOTIFICATION_OPTIONS>): RetryOptions => {
  const { notificationRetries: maxRetries, initialNotificationBackoff, maxNotificationBackoff } = options
  return { maxRetries, initialBackoff: initialNotificationBackoff, maxBackoff: maxNotificationBackoff }
}

/** Retries of writes, for batches and metadata alike. */
export const RETRY_OPTIONS = {
  maxRetries: whole({ says: 'Retries of a failed write before it is dead-lettered.', min: 0, max: 1_000, default: 5 }),
  initialBackoff: duration({ says: 'Delay before the first retry; doubles with each retry.', default: '1s' }),
  maxBackoff: duration({ says: 'Maximum delay between retries.', default: '30s' }),
} as const satisfies OptionTable

export const retryOf = (options: CheckedOptions<typeof RETRY_OPTIONS>): RetryOptions => {
  const { maxRetries, initialBackoff, maxBackoff } = options
  return { maxRetries, initialBackoff, maxBackoff }
}

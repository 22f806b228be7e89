import { type CheckedOptions, duration, type OptionTable, whole } from '../../config/option-table.ts'
import type { RetryOptions } from '../persistence/attempts.ts'

/** Of writes, alike for batches and metadata. */
export const RETRY_OPTIONS = {
  maxRetries: whole({ says: 'Of a write that fails, before it becomes dead letters.', min: 0, max: 1_000, default: 5 }),
  initialBackoff: duration({ says: 'Before the first retry; doubles each time.', default: '1s' }),
  maxBackoff: duration({ says: 'The longest wait between two.', default: '30s' }),
} as const satisfies OptionTable

export const retryOf = (options: CheckedOptions<typeof RETRY_OPTIONS>): RetryOptions => {
  const { maxRetries, initialBackoff, maxBackoff } = options
  return { maxRetries, initialBackoff, maxBackoff }
}

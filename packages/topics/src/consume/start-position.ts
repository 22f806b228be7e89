import { ConfigError } from '../errors.ts'
import { isStorable, toTime } from '../options/storable.ts'
import type { StartPosition } from '../stores/subscription-record.ts'

/** Start position of a new group. An existing group continues at its cursor; a queue always starts at the beginning. */
export type From = 'now' | 'beginning' | { timestamp: Date | number } | { messageId: string }

export function parseFrom(option: string, value: unknown): StartPosition {
  if (value === undefined) return 'now'
  if (value === 'now' || value === 'beginning') return value
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 1) {
    const { timestamp, messageId } = value as { timestamp?: unknown; messageId?: unknown }
    const time = toTime(timestamp)
    if (time !== undefined) return { timestamp: time }
    if (typeof messageId === 'string' && isStorable(messageId)) return { messageId }
  }
  throw new ConfigError(option, value, "'now', 'beginning', { timestamp: Date } or { messageId: '…' }")
}

import type { StoredMessage } from 'tidemark'
import type { Output } from './output.ts'

/** A message for programs: JSON as JSON, bytes as base64. */
export function messageValue<T extends Pick<StoredMessage, 'type' | 'payload'>>(message: T): object {
  return { ...message, payload: parsed(message.payload) }
}

/** The same in a line for people. */
export function messageLine(message: StoredMessage, output: Output): string {
  const { createdAt, id, key, payload } = message
  const head = [output.paint('dim', createdAt.toISOString()), output.paint('cyan', String(id))]
  if (key !== null) head.push(output.paint('yellow', key))
  return [...head, payloadText(payload)].join('  ')
}

export const payloadText = (payload: string | Uint8Array): string =>
  typeof payload === 'string'
    ? payload
    : `${payload.length} bytes: ${Buffer.from(payload.subarray(0, 64)).toString('hex')}${payload.length > 64 ? '…' : ''}`

function parsed(payload: string | Uint8Array): unknown {
  if (typeof payload !== 'string') return payload
  try {
    return JSON.parse(payload)
  } catch {
    // Stored text is shown as it is, even if it is invalid.
    return payload
  }
}

import { bytes } from '../format.ts'

export type StoredMessage = {
  readonly id: number
  readonly messageId: string
  readonly key: string | null
  readonly type: string
  readonly headers: { readonly [name: string]: string }
  readonly createdAt: string
  readonly payload?: unknown
  readonly payloadBase64?: string
  /** Only the beginning of the payload was sent. */
  readonly payloadTruncated?: boolean
  readonly payloadSize?: number
  /** A protobuf message that the server knows. */
  readonly decoded?: { readonly type: string; readonly value: unknown }
  readonly omittedBytes?: number
}

/** Where a message stands in a group. */
export type GroupState = {
  readonly group: string
  readonly state: 'done' | 'in-flight' | 'retry' | 'dead-letter' | 'waiting' | 'not-for-group' | 'settled'
  readonly consumer: string | null
  readonly until: string | null
  readonly attempt: number | null
  readonly deadLetter: number | null
}

export type MessageWithStates = StoredMessage & { readonly groups: readonly GroupState[] }

/** Payloads are cut at this many bytes until the user asks for all of them. */
export const SHOWN_BYTES = 4_096
const SUMMARY = 160

/** One line of a list. */
export function summaryOf(message: StoredMessage): string {
  const { payload, payloadBase64, omittedBytes, decoded, payloadSize } = message
  if (omittedBytes !== undefined) return `${bytes(omittedBytes)}, too large to list`
  if (decoded !== undefined) return oneLine(JSON.stringify(decoded.value))
  if (payloadBase64 !== undefined) {
    const size = payloadSize ?? Math.floor((payloadBase64.length * 3) / 4)
    const text = isText(message) ? textOf(payloadBase64) : undefined
    return text === undefined ? bytes(size) : oneLine(text)
  }
  return oneLine(JSON.stringify(payload))
}

const oneLine = (text: string | undefined): string => (text ?? '').slice(0, SUMMARY).replaceAll(/\s+/g, ' ')

/** JSON that was cut arrives as bytes: it is no longer valid JSON, but still text. */
export const isText = ({ type }: StoredMessage): boolean => type === 'json'

export function textOf(base64: string): string {
  return new TextDecoder().decode(bytesOf(base64))
}

export function bytesOf(base64: string): Uint8Array {
  const raw = atob(base64)
  return Uint8Array.from(raw, char => char.charCodeAt(0))
}

/** The last part of a type, as in "BatchInfo". */
export const shortType = ({ decoded, type }: StoredMessage): string => {
  const whole = decoded?.type ?? type
  return whole.slice(Math.max(whole.lastIndexOf('.'), whole.lastIndexOf('/')) + 1)
}

/** "000010  7b 22 68 65 …  {"he…", sixteen bytes a line. */
export function hexOf(given: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < given.length; at += 16) {
    const part = given.subarray(at, at + 16)
    const hex = Array.from(part, byte => byte.toString(16).padStart(2, '0')).join(' ')
    const text = Array.from(part, byte => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${text}`)
  }
  return lines.join('\n')
}

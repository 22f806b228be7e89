import type { DeadLetter, FailedAttempt, FailureRecord, RawMessage } from 'tidemark/store'
import { Entry } from './entry.ts'
import { encodeEntry, encodeRecord } from './entry-encoding.ts'

type Meta = {
  readonly group: string
  readonly attempts: number
  readonly version: number
  readonly error: FailureRecord
  readonly history: readonly FailedAttempt[]
  readonly deadAt: number
  readonly id: number
  readonly createdAt: number
}

/** A dead letter: its description as JSON, and the message as an entry of one record. */
export type Letter = Meta & { readonly salt: number; readonly message: RawMessage }

/** If the server takes no more than `maxBytes`, the oldest failed attempts are left out. */
export function encodeLetter(message: RawMessage, meta: Omit<Meta, 'id' | 'createdAt'>, maxBytes: number): Buffer {
  const body = encodeEntry([encodeRecord(message, false)], false, message.salt)
  for (let from = 0; ; from++) {
    const history = meta.history.slice(from)
    const about = Buffer.from(JSON.stringify({ ...meta, history, id: message.id, createdAt: message.createdAt }))
    if (4 + about.length + body.length > maxBytes && history.length > 0) continue
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32LE(about.length)
    return Buffer.concat([length, about, body])
  }
}

export function decodeLetter(data: Uint8Array): Letter {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length)
  const end = 4 + bytes.readUInt32LE(0)
  const meta = JSON.parse(bytes.toString('utf8', 4, end)) as Meta
  const entry = new Entry({ seq: 0, at: meta.createdAt, data: bytes.subarray(end) })
  const message = entry.message(0)
  if (message === undefined) throw new Error('a dead letter without a message')
  return { ...meta, salt: entry.salt, message: { ...message, id: meta.id } }
}

export const deadLetterOf = (id: number, { group, message, attempts, error, history, deadAt }: Letter): DeadLetter => ({
  id,
  group,
  message,
  attempts,
  error,
  history,
  deadAt,
})

import { headers, type Msg, type MsgHdrs } from '@nats-io/transport-node'

/** A message as a stream has it. */
export type Stored = {
  readonly seq: number
  readonly subject: string
  readonly at: number
  readonly data: Uint8Array
  /** Value of a header. */
  header(name: string): string
}

/** A message to store. */
export type Write = {
  readonly subject: string
  readonly data: Uint8Array
  /** Sequence that the subject's last message must have; 0: there must be none. */
  readonly expected?: number
  /** Time to live in seconds. */
  readonly ttl?: number
  readonly headers?: Readonly<Record<string, string>>
}

const EMPTY = new Uint8Array(0)

/** A message in an answer of the JetStream API. */
export type ApiMessage = { subject: string; seq: number; data?: string; hdrs?: string; time: string }

export function fromApi({ subject, seq, data = '', hdrs = '', time }: ApiMessage): Stored {
  const lines = Buffer.from(hdrs, 'base64').toString()
  return {
    seq,
    subject,
    at: Date.parse(time),
    data: data === '' ? EMPTY : Buffer.from(data, 'base64'),
    header: name => new RegExp(`^${name}: ?(.*?)\r?$`, 'im').exec(lines)?.[1] ?? '',
  }
}

export function storedOf({ data, headers: hdrs }: Msg): Stored {
  const header = (name: string): string => hdrs?.last(name) ?? ''
  return {
    seq: Number(header('Nats-Sequence')),
    subject: header('Nats-Subject'),
    at: Date.parse(header('Nats-Time-Stamp')),
    data,
    header,
  }
}

export function headersOf({ expected, ttl, headers: given = {} }: Write): MsgHdrs {
  const hdrs = headers()
  if (expected !== undefined) hdrs.set('Nats-Expected-Last-Subject-Sequence', String(expected))
  if (ttl !== undefined) hdrs.set('Nats-TTL', `${ttl}s`)
  for (const [name, value] of Object.entries(given)) hdrs.set(name, value)
  return hdrs
}

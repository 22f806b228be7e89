import { toParameter } from './parameters.ts'

type Parameter = ReturnType<typeof toParameter>

const BIND = 0x42
const BINARY = 1
const EXECUTE_AND_SYNC = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4])
/** More are sent as they are instead of being copied. */
const MANY_BYTES = 16_384

/**
 * What runs a prepared statement: Bind, Execute and Sync, to be written one after another. Text parameters are in the text
 * format, bytes in the binary format, results in the text format.
 *
 *     'B'  length  portal ''  name  formats: count, each  values: count, each length and bytes  result formats: 0
 */
export function bindMessage(name: string, values: readonly unknown[]): Uint8Array[] {
  const parameters = values.map(toParameter)
  let length = 13 + Buffer.byteLength(name)
  let apart = 0
  for (const parameter of parameters) {
    length += 6 + bytesOf(parameter)
    if (isLong(parameter)) apart += parameter.length
  }
  const buffer = Buffer.allocUnsafe(length - apart + EXECUTE_AND_SYNC.length)
  buffer[0] = BIND
  let at = buffer.writeInt32BE(length - 1, 1)
  buffer[at++] = 0
  at += buffer.write(name, at)
  buffer[at++] = 0
  at = buffer.writeInt16BE(parameters.length, at)
  for (const parameter of parameters) at = buffer.writeInt16BE(parameter instanceof Uint8Array ? BINARY : 0, at)
  at = buffer.writeInt16BE(parameters.length, at)
  const parts: Uint8Array[] = []
  let from = 0
  for (const parameter of parameters) {
    at = buffer.writeInt32BE(parameter === null ? -1 : bytesOf(parameter), at)
    if (isLong(parameter)) {
      parts.push(buffer.subarray(from, at), parameter)
      from = at
    } else at += put(buffer, parameter, at)
  }
  at = buffer.writeInt16BE(0, at)
  buffer.set(EXECUTE_AND_SYNC, at)
  parts.push(from === 0 ? buffer : buffer.subarray(from))
  return parts
}

function bytesOf(parameter: Parameter): number {
  if (parameter === null) return 0
  return typeof parameter === 'string' ? Buffer.byteLength(parameter) : parameter.length
}

/** Of a type of its own: bytes that are not long are of type Uint8Array still. */
type LongBytes = Uint8Array & { readonly isLong?: true }

const isLong = (parameter: Parameter): parameter is LongBytes =>
  parameter instanceof Uint8Array && parameter.length > MANY_BYTES

function put(buffer: Buffer, parameter: Parameter, at: number): number {
  if (parameter === null) return 0
  if (typeof parameter === 'string') return buffer.write(parameter, at)
  buffer.set(parameter, at)
  return parameter.length
}

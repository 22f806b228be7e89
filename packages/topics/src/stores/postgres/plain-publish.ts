import { isPlain } from '../../publish/outgoing.ts'
import type { OutgoingMessage } from '../log.ts'
import type { TopicRecord } from '../topic-record.ts'
import { byteaArray, textArray } from './binary-array.ts'
import { bytesToArray, bytesToText, textToArray } from './parameters.ts'
import { publishOneText, publishText } from './publish-statements.ts'

/** The statement of a publish without messageIds, prepared under its name. */
export type PlainStatement = { readonly name: string; readonly text: string; readonly isForOne: boolean }

/** How bytes and arrays are sent: not every library sends parameters in the binary format; as text they mean the same. */
type Format = {
  readonly one: (item: string | Uint8Array) => unknown
  readonly bytes: (items: readonly (string | Uint8Array)[]) => unknown
  readonly text: (items: readonly (string | null)[]) => unknown
}

const BINARY: Format = {
  one: item => (typeof item === 'string' ? Buffer.from(item) : item),
  bytes: byteaArray,
  text: textArray,
}
const TEXT: Format = { one: bytesToText, bytes: bytesToArray, text: textToArray }

export const formatFor = ({ sendsBinary }: { readonly sendsBinary: boolean }): Format => (sendsBinary ? BINARY : TEXT)

/** `sql` fills in the schemas. */
export function plainStatements(
  topic: TopicRecord,
  sql: (text: string) => string,
): { readonly one: PlainStatement; readonly many: PlainStatement } {
  const suffix = `${topic.uid}_${topic.configVersion}`
  const many = { name: `tidemark_publish_${suffix}`, text: sql(publishText(topic)), isForOne: false }
  // The bitmaps of reference tracking need what the longer statement returns.
  if (topic.config.tracking === 'reference') return { one: many, many }
  return { one: { name: `tidemark_publish_one_${suffix}`, text: sql(publishOneText(topic)), isForOne: true }, many }
}

/** The parameters, but for the salt, which every attempt draws anew. */
export function plainValues(
  messages: readonly OutgoingMessage[],
  format: Format,
  isForOne: boolean,
): (salt: number) => unknown[] {
  const [only] = messages
  if (isForOne && only !== undefined) {
    const payload = format.one(only.payload)
    return salt => [payload, only.key, only.type, only.headers, salt]
  }
  const payloads = format.bytes(messages.map(message => message.payload))
  const [keys, types, headers] = messages.every(isPlain)
    ? [null, null, null]
    : [
        format.text(messages.map(message => message.key)),
        format.text(messages.map(message => message.type)),
        format.text(messages.map(message => message.headers)),
      ]
  return salt => [payloads, keys, types, headers, salt, messages.length - 1]
}

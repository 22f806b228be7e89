/**
 * The messageId of a message whose publisher gave none: a UUID (version 8) made of the salt of its publish, 22 bits of its
 * topic's uid, and its id. Ids are reused after a rollback, a restore or a lost commit; the 52 random bits per transaction
 * are not. It needs no index, and leads straight back to the row, whose salt confirms that it is the right one.
 *
 *     ssssssss-ssss-8suu-Vuuu-iiiiiiiiiiii      s: salt, u: topic uid, V: variant bits and two of the uid's, i: id
 *
 * @example
 * const messageId = messageIdOf(topic.uid, message.salt, message.id)
 */
export function messageIdOf(uid: number, salt: number, id: number): string {
  const block = Math.floor(id / BLOCK)
  if (salt !== last.salt || uid !== last.uid || block !== last.block) {
    const digits = block === last.block ? last.digits : block.toString(16).padStart(9, '0')
    const topic = uid === last.uid ? last.topic : topicPart(uid)
    last = { uid, topic, salt, block, digits, text: saltPart(salt) + topic + digits }
  }
  return last.text + THREE[id % BLOCK]
}

/** messageId of a message in the log; '' if the log no longer has it. */
export const messageIdIn = (
  { uid }: { readonly uid: number },
  { id, salt, messageId }: { readonly id: number; readonly salt: number | null; readonly messageId: string | null },
): string => messageId ?? (salt === null ? '' : messageIdOf(uid, salt, id))

/** What a derived messageId contains. */
export type DerivedId = {
  /** Id of the message. */
  readonly id: number
  /** Random bits of the publish that stored it. */
  readonly salt: number
}

/**
 * Id and salt of a derived messageId, or undefined if it is not a derived messageId of this topic.
 *
 * @example
 * const { id, salt } = parseMessageId(topic.uid, messageId) ?? {}
 */
export function parseMessageId(uid: number, messageId: string): DerivedId | undefined {
  if (!FORM.test(messageId)) return undefined
  const salt = Number.parseInt(messageId.slice(0, 8) + messageId.slice(9, 13) + messageId.slice(15, 16), 16)
  const id = Number.parseInt(messageId.slice(24), 16)
  return messageIdOf(uid, salt, id) === messageId ? { id, salt } : undefined
}

const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Ids are mostly requested in order, and those of a block differ only in their last three digits. */
const BLOCK = 0x1000

/**
 * A lookup table of hexadecimal digits: most salts are requested once, and converting them would cost as much as the
 * rest.
 */
const THREE = Array.from({ length: BLOCK }, (_, value) => value.toString(16).padStart(3, '0'))
const TWO = Array.from({ length: 0x100 }, (_, value) => value.toString(16).padStart(2, '0'))
const ONE = '0123456789abcdef'

/** The common prefix of messages of one publish and one block, for the most recently requested. */
type Beginning = {
  readonly uid: number
  readonly topic: string
  readonly salt: number
  readonly block: number
  readonly digits: string
  readonly text: string
}

let last: Beginning = { uid: -1, topic: '', salt: -1, block: -1, digits: '', text: '' }

function saltPart(salt: number): string {
  const high = Math.floor(salt / 0x10_0000)
  const low = salt % 0x10_0000
  const first = `${THREE[high >>> 20]}${THREE[(high >>> 8) & 0xfff]}${TWO[high & 0xff]}`
  return `${first}-${THREE[low >>> 8]}${ONE[(low >>> 4) & 0xf]}-8${ONE[low & 0xf]}`
}

function topicPart(uid: number): string {
  const bits = uid % 0x40_0000
  return `${TWO[bits >>> 14]}-${(0x8000 + (bits & 0x3fff)).toString(16)}-`
}

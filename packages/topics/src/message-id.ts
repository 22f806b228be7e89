/**
 * The messageId of a message whose publisher gave none: a UUID (version 8) made of the topic's 60 random bits and the
 * message's id. It costs no storage and no index, and leads straight back to the row.
 *
 *     uuuuuuuu-uuuu-8uuu-Viii-iiiiiiiiiiii      u: topic uid, V: variant bits and the id's top, i: id
 */
export function messageIdOf(uid: bigint, id: number): string {
  const known = beginningOf(uid)
  const block = Math.floor(id / BLOCK)
  if (block !== known.block) {
    known.block = block
    known.text = known.prefix + middleOf(block)
  }
  return known.text + LAST_DIGITS[id % BLOCK]
}

/** The row id inside a derived messageId, or undefined where it isn't one of this topic's. */
export function idOfMessageId(uid: bigint, messageId: string): number | undefined {
  const { prefix } = beginningOf(uid)
  if (messageId.length !== 36 || !messageId.startsWith(prefix)) return undefined
  const high = Number.parseInt(messageId.slice(19, 23), 16) - 0x8000
  const low = Number.parseInt(messageId.slice(24), 16)
  const id = high * 0x1_0000_0000_0000 + low
  return Number.isSafeInteger(id) && id >= 0 && messageIdOf(uid, id) === messageId ? id : undefined
}

/** Ids are mostly asked for in their order, and those of a block differ in their last three digits only. */
const BLOCK = 0x1000
const LAST_DIGITS = Array.from({ length: BLOCK }, (_, digits) => digits.toString(16).padStart(3, '0'))
const BLOCKS = 0x1_0000_0000_0000 / BLOCK

const middleOf = (block: number): string => {
  const high = (0x8000 + Math.floor(block / BLOCKS)).toString(16)
  return `${high}-${(block % BLOCKS).toString(16).padStart(9, '0')}`
}

/** Of a topic's ids: what all have, and what those of the block have that was asked for last. */
type Beginning = { readonly prefix: string; block: number; text: string }

const beginnings = new Map<bigint, Beginning>()

function beginningOf(uid: bigint): Beginning {
  let beginning = beginnings.get(uid)
  if (beginning === undefined) {
    const hex = uid.toString(16).padStart(15, '0')
    beginning = { prefix: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-`, block: -1, text: '' }
    beginnings.set(uid, beginning)
  }
  return beginning
}

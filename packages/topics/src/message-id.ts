/**
 * The messageId of a message whose publisher gave none: a UUID (version 8) made of the topic's 60 random bits and the
 * message's id. It costs no storage and no index, and leads straight back to the row.
 *
 *     uuuuuuuu-uuuu-8uuu-Viii-iiiiiiiiiiii      u: topic uid, V: variant bits and the id's top, i: id
 */
export function messageIdOf(uid: bigint, id: number): string {
  const prefix = prefixOf(uid)
  const low = (id % 0x1_0000_0000_0000).toString(16).padStart(12, '0')
  const high = (0x8000 + Math.floor(id / 0x1_0000_0000_0000)).toString(16)
  return `${prefix}${high}-${low}`
}

/** The row id inside a derived messageId, or undefined where it isn't one of this topic's. */
export function idOfMessageId(uid: bigint, messageId: string): number | undefined {
  const prefix = prefixOf(uid)
  if (messageId.length !== 36 || !messageId.startsWith(prefix)) return undefined
  const high = Number.parseInt(messageId.slice(19, 23), 16) - 0x8000
  const low = Number.parseInt(messageId.slice(24), 16)
  const id = high * 0x1_0000_0000_0000 + low
  return Number.isSafeInteger(id) && id >= 0 && messageIdOf(uid, id) === messageId ? id : undefined
}

const prefixes = new Map<bigint, string>()

function prefixOf(uid: bigint): string {
  let prefix = prefixes.get(uid)
  if (prefix === undefined) {
    const hex = uid.toString(16).padStart(15, '0')
    prefix = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-`
    prefixes.set(uid, prefix)
  }
  return prefix
}

import { ConfigError } from '../errors.ts'
import { Options } from '../options/options.ts'
import type { Runtime } from '../runtime.ts'
import type { MessageStateRecord } from '../stores/message-states.ts'
import { type ByteOptions, readBounds } from './byte-options.ts'
import { findTopic } from './find-records.ts'
import { type StoredMessage, toStoredMessage } from './stored-message.ts'

/** A message with where it stands in each group. */
export type MessageWithStates = {
  /** The message. */
  readonly message: StoredMessage
  /** Where it stands in each group, by name. */
  readonly groups: readonly MessageState[]
}

/** Where a message stands in a group. */
export type MessageState = Omit<MessageStateRecord, 'until'> & {
  /** Expiry of the claim, or time of the redelivery; null if there is none. */
  readonly until: Date | null
}

export async function message(
  runtime: Runtime,
  name: string,
  id: number,
  given?: Pick<ByteOptions, 'maxPayloadBytes'>,
): Promise<MessageWithStates | undefined> {
  const options = new Options('message', given)
  const bounds = readBounds(options)
  options.done()
  if (!Number.isSafeInteger(id) || id < 0) throw new ConfigError('message.id', id, 'the id of a message')
  const topic = await findTopic(runtime, name)
  const only = { after: id - 1, before: id + 1, newestFirst: false, limit: 1 }
  const [found] = id === 0 ? [] : (await runtime.store.log.browse(topic, { ...only, ...bounds })).messages
  if (found === undefined) return undefined
  const groups = await runtime.store.inspection.messageStates(topic, id)
  return {
    message: toStoredMessage(topic, found),
    groups: groups.map(({ until, ...state }) => ({ ...state, until: until === null ? null : new Date(until) })),
  }
}

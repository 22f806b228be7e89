import { type Delivery, StaleDeliveryError } from 'tidemark'
import type { Handed, SettleEntry } from '../journal.ts'
import type { Payload } from '../world.ts'
import { codeOf, journal, nameOf } from './worker.ts'

type Message = Pick<Delivery<Payload>, 'payload' | 'messageId' | 'attempt' | 'version'>

export const handed = (topic: string, group: string, message: Message): Handed => ({
  topic: nameOf(topic),
  group,
  key: message.payload.key,
  messageId: message.messageId,
  attempt: message.attempt,
  version: message.version,
})

export const noteDelivered = (entry: Handed): void => journal.write({ what: 'delivered', ...entry })

/** Journals a settlement of one or more messages around the call; a stale one is an answer, and no error. */
export async function noteSettlement(
  what: SettleEntry['what'],
  messages: readonly Handed[],
  settle: () => Promise<unknown>,
): Promise<void> {
  for (const message of messages) journal.write({ what, phase: 'invoked', ...message })
  try {
    await settle()
    for (const message of messages) journal.write({ what, phase: 'ok', ...message })
  } catch (error) {
    // A settlement that the database refuses is tried again in the background, so it may succeed later.
    const phase = error instanceof StaleDeliveryError ? 'failed' : 'unknown'
    for (const message of messages) journal.write({ what, phase, error: codeOf(error), ...message })
    if (!(error instanceof StaleDeliveryError)) throw error
  }
}

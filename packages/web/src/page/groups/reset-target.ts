import { at, getText } from '../http.ts'

/** Possible targets of a reset. */
export type Choice = 'beginning' | 'now' | 'timestamp' | 'message'

export type Target = 'beginning' | 'now' | { readonly timestamp: string } | { readonly messageId: string }

/**
 * The chosen target as the API takes it; undefined while a field is empty. A message is named by its number or its
 * messageId.
 */
export async function targetOf(
  topic: string,
  { choice, time, message }: { readonly choice: Choice; readonly time: string; readonly message: string },
  signal: AbortSignal,
): Promise<Target | undefined> {
  if (choice === 'beginning' || choice === 'now') return choice
  if (choice === 'timestamp') {
    const moment = new Date(time)
    return Number.isNaN(moment.getTime()) ? undefined : { timestamp: moment.toISOString() }
  }
  const text = message.trim()
  if (text === '') return undefined
  if (!/^\d{1,15}$/.test(text)) return { messageId: text }
  return { messageId: await messageIdAt(topic, Number(text), signal) }
}

/** The message with this number, or the oldest after it. */
async function messageIdAt(topic: string, id: number, signal: AbortSignal): Promise<string> {
  const query = { order: 'oldest-first', after: Math.max(0, id - 1), limit: 1 }
  const answer = await getText(`${at('topics', topic)}/messages`, { signal, query })
  const [found] = (JSON.parse(answer) as { messages: { messageId: string }[] }).messages
  if (found === undefined) throw new Error(`No message from ${id} on is kept.`)
  return found.messageId
}

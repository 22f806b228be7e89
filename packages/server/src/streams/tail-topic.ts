import type { ByteOptions, StoredMessage, Tidemark } from 'tidemark'
import { bytesToRead } from '../answers/bytes-to-read.ts'
import type { Limits } from '../limits.ts'

const PAGE = 500
/** Ids of the messages read to catch up, to be skipped if the tail returns them too; only the last ones can repeat. */
const REMEMBERED = 10_000

export type TopicTail = { messages(signal: AbortSignal): AsyncGenerator<StoredMessage, void, undefined> }

/**
 * Messages published from now on; with `after`, first those published since that id. The tail is positioned before the
 * log is read, so that nothing falls between the two. On PostgreSQL a transaction that commits late may have a lower id
 * than messages already seen: the live tail includes such messages, but catching up may miss them.
 */
export async function tailTopic(
  topics: Tidemark,
  topic: string,
  after: number | undefined,
  { answerBytes, streamBytes }: Pick<Limits, 'answerBytes' | 'streamBytes'>,
): Promise<TopicTail> {
  const ended = new AbortController()
  // Reads no further ahead than a slow reader may leave unsent.
  const bounds = { ...bytesToRead(answerBytes), maxBytes: streamBytes }
  const live = await topics.admin.tail(topic, { signal: ended.signal, ...bounds })
  return {
    async *messages(signal) {
      const end = (): void => ended.abort()
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
      try {
        const seen = new Set<number>()
        if (after !== undefined) yield* missed(topics, topic, after, bounds, seen, signal)
        for await (const message of live) if (!seen.delete(message.id)) yield message
      } finally {
        signal.removeEventListener('abort', end)
        ended.abort()
      }
    },
  }
}

async function* missed(
  topics: Tidemark,
  topic: string,
  after: number,
  bounds: ByteOptions,
  seen: Set<number>,
  signal: AbortSignal,
): AsyncGenerator<StoredMessage, void, undefined> {
  for (let next: number | null = after; next !== null && !signal.aborted; ) {
    const page = await topics.admin.browse(topic, { after: next, limit: PAGE, ...bounds })
    for (const message of page.messages) {
      seen.add(message.id)
      if (seen.size > REMEMBERED) for (const oldest of seen.values().take(1)) seen.delete(oldest)
      yield message
    }
    next = page.next
  }
}

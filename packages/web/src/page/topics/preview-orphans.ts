import { serverNow } from '../clock.ts'
import { at, get } from '../http.ts'
import { MOST_PAGES, orphansIn, orphansText, type Unfinished } from './orphans.ts'

const AGES_MS: { readonly [age: string]: number } = { '1h': 3_600_000, '1d': 86_400_000, '7d': 604_800_000 }
const PAGE = 1_000

/** What completing orphans would do. Unfinished messages are counted a page at a time; few topics have many. */
export async function previewOrphans(
  topic: string,
  olderThan: string,
  live: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string> {
  const before = await firstSince(topic, serverNow() - (AGES_MS[olderThan] ?? 0), signal)
  let [count, after] = [0, 0]
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const query = { unfinished: true, limit: PAGE, after }
    const found = await get<{ completion: Unfinished[]; next: number | null }>(`${at('topics', topic)}/completion`, {
      signal,
      query,
    })
    count += orphansIn(found.completion, before, live)
    if (found.next === null || found.next >= before) return orphansText(count, true, olderThan)
    after = found.next
  }
  return orphansText(count, false, olderThan)
}

/** Id of the first message that is younger. */
async function firstSince(topic: string, time: number, signal: AbortSignal): Promise<number> {
  const query = { order: 'oldest-first', since: new Date(time).toISOString(), limit: 1 }
  const { messages } = await get<{ messages: { id: number }[] }>(`${at('topics', topic)}/messages`, { signal, query })
  return messages[0]?.id ?? Number.POSITIVE_INFINITY
}

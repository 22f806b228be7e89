import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { at, getText, Problem } from '../http.ts'
import { refreshed } from '../live.ts'
import { parseExact } from './exact-json.ts'
import { type Filter, toQuery } from './filter.ts'
import { type MessageWithStates, SHOWN_BYTES, type StoredMessage } from './stored-message.ts'

const PAGE = 50
/** One request examines at most 100 000 messages. Beyond this many the user decides whether to continue. */
const MOST_REQUESTS = 20

type Page = {
  readonly messages: readonly StoredMessage[]
  readonly next: number | null
  /** What was searched. */
  readonly searched?: { readonly kept: number; readonly since: string | null }
}

export type Browsed = {
  readonly page: ReadonlySignal<Page | undefined>
  readonly error: ReadonlySignal<unknown>
  readonly isLoading: ReadonlySignal<boolean>
  /** Progress of a search for something rare. */
  readonly searchedTo: ReadonlySignal<number | null>
  stop(): void
  reload(): void
}

/** A page of messages. A rare key is searched until a page is full, the log ends, or the user stops it. */
export function useBrowse(topic: string, filter: Filter, isOn: boolean): Browsed {
  const page = useSignal<Page | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isLoading = useSignal(true)
  const searchedTo = useSignal<number | null>(null)
  const again = useSignal(0)
  const stopped = useSignal(new AbortController())
  useEffect(() => {
    if (!isOn) return
    const abort = new AbortController()
    stopped.value = abort
    isLoading.value = true
    searchedTo.value = null
    const run = async (): Promise<void> => {
      let from = filter.from
      const found: StoredMessage[] = []
      for (let request = 1; ; request++) {
        const part = await browse(topic, filter, from, PAGE - found.length, abort.signal)
        found.push(...part.messages)
        const isEnough = found.length >= PAGE || part.next === null || request >= MOST_REQUESTS
        if (isEnough || found.length > 0) page.value = { ...part, messages: [...found] }
        if (isEnough) return
        searchedTo.value = part.next
        from = String(part.next)
      }
    }
    run()
      .then(() => {
        error.value = undefined
      })
      .catch(failure => {
        if (!abort.signal.aborted) error.value = failure
        else if (abort === stopped.peek() && page.peek() === undefined)
          page.value = { messages: [], next: searchedTo.peek() }
      })
      .finally(() => {
        if (abort === stopped.peek()) isLoading.value = false
      })
    return () => abort.abort()
  }, [topic, JSON.stringify(filter), again.value, refreshed.value, isOn])
  return {
    page,
    error,
    isLoading,
    searchedTo,
    stop: () => stopped.value.abort(),
    reload: () => {
      again.value++
    },
  }
}

async function browse(
  topic: string,
  filter: Filter,
  from: string | null,
  limit: number,
  signal: AbortSignal,
): Promise<Page> {
  const place = filter.order === 'newest' ? 'before' : 'after'
  const query = { ...toQuery(filter), limit, ...SHORT, ...(from !== null && { [place]: from }) }
  return parseExact<Page>(await getText(`${at('topics', topic)}/messages`, { signal, query, timeoutMs: 60_000 }))
}

/** Payloads are cut, and decoded where the server knows their type. */
const SHORT = { payloadBytes: SHOWN_BYTES, decode: true }

/** One message, and where it stands in each group. `isWhole`: with all of its payload. */
export async function loadMessage(
  topic: string,
  id: number,
  isWhole: boolean,
  signal: AbortSignal,
): Promise<MessageWithStates | undefined> {
  const query = isWhole ? { decode: true } : SHORT
  try {
    const text = await getText(`${at('topics', topic, 'messages', id)}`, { signal, query, timeoutMs: 60_000 })
    return parseExact<MessageWithStates>(text)
  } catch (failure) {
    if (failure instanceof Problem && failure.status === 404) return undefined
    throw failure
  }
}

import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { at } from '../http.ts'
import { parseExact } from './exact-json.ts'
import type { Filter } from './filter.ts'
import { type Followed, Follower } from './follower.ts'
import type { StoredMessage } from './stored-message.ts'

const AGAIN_MS = 2_000
/** As for the page's own stream: a browser allows six connections per host, so a hidden tab closes it. */
const HIDDEN_MS = 10_000

export type Tail = {
  readonly shown: ReadonlySignal<Followed>
  readonly error: ReadonlySignal<string>
  /** Whether new messages are shown as they arrive, or only counted. */
  follow(isFollowing: boolean): void
}

/** New messages as they arrive, oldest first, without consuming them. It continues where it was interrupted. */
export function useTail(topic: string, filter: Filter, start: readonly StoredMessage[], isOn: boolean): Tail {
  const shown = useSignal<Followed>({ messages: [], waiting: 0 })
  const error = useSignal('')
  const follower = useSignal(new Follower())
  useEffect(() => {
    if (!isOn) return
    const mine = new Follower(start)
    follower.value = mine
    shown.value = mine.now
    // Nothing was there: what is published until the stream is open is new as well.
    const isEmpty = filter.key === null && filter.type === null && filter.since === null && filter.from === null
    const close = listen(topic, mine.lastId ?? (isEmpty ? 0 : undefined), {
      message: message => {
        if (!matches(message, filter)) return
        if (mine.add(message))
          requestAnimationFrame(() => {
            shown.value = mine.take()
          })
      },
      trouble: text => {
        error.value = text
      },
    })
    return () => {
      close()
      error.value = ''
    }
  }, [topic, isOn, filter.key, filter.type])
  return {
    shown,
    error,
    follow: isFollowing => {
      follower.value.isFollowing = isFollowing
      if (isFollowing) shown.value = follower.value.take()
    },
  }
}

const matches = (message: StoredMessage, { key, type }: Pick<Filter, 'key' | 'type'>): boolean =>
  (key === null || message.key === key) && (type === null || message.type === type)

type Heard = { message(message: StoredMessage): void; trouble(text: string): void }

/** A browser gives up after an error response, so the stream is reopened here, after the last id. */
function listen(topic: string, after: number | undefined, heard: Heard): () => void {
  let last = after
  let source: EventSource | undefined
  let timer = 0
  const open = (): void => {
    source?.close()
    const url = new URL(`/api/v1${at('topics', topic)}/messages/tail`, location.href)
    if (last !== undefined) url.searchParams.set('after', String(last))
    const opened = new EventSource(url)
    source = opened
    opened.addEventListener('message', event => {
      const message = parseExact<StoredMessage>(event.data)
      last = message.id
      heard.message(message)
    })
    opened.onopen = () => heard.trouble('')
    opened.onerror = () => {
      opened.close()
      heard.trouble('The tail was interrupted. It goes on where it was as soon as the server answers.')
      timer = setTimeout(open, AGAIN_MS)
    }
  }
  let isAway = false
  let hiding = 0
  const seen = (): void => {
    clearTimeout(hiding)
    if (document.visibilityState === 'hidden')
      hiding = setTimeout(() => {
        isAway = true
        clearTimeout(timer)
        source?.close()
      }, HIDDEN_MS)
    else if (isAway) {
      isAway = false
      open()
    }
  }
  document.addEventListener('visibilitychange', seen)
  open()
  return () => {
    document.removeEventListener('visibilitychange', seen)
    clearTimeout(timer)
    clearTimeout(hiding)
    source?.close()
  }
}

import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { at } from '../http.ts'
import type { StoredMessage } from './stored-message.ts'

const KEPT = 200

/** New messages as they arrive, newest first. The stream is closed when nobody watches. */
export function useTail(
  topic: string,
  isOn: boolean,
): { readonly messages: Signal<readonly StoredMessage[]>; readonly error: Signal<string> } {
  const messages = useSignal<readonly StoredMessage[]>([])
  const error = useSignal('')
  useEffect(() => {
    if (!isOn) return
    messages.value = []
    const source = new EventSource(`/api/v1${at('topics', topic)}/messages/tail`)
    let waiting: StoredMessage[] = []
    source.addEventListener('message', event => {
      if (waiting.length === 0)
        requestAnimationFrame(() => {
          messages.value = [...waiting.toReversed(), ...messages.value].slice(0, KEPT)
          waiting = []
        })
      waiting.push(JSON.parse(event.data) as StoredMessage)
    })
    source.onopen = () => {
      error.value = ''
    }
    source.onerror = () => {
      error.value = 'The tail was interrupted. Trying again.'
    }
    return () => source.close()
  }, [topic, isOn])
  return { messages, error }
}

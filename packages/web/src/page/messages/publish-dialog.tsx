import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { plural } from '../format.ts'
import { at, write } from '../http.ts'
import { isLive, topicNamed } from '../live.ts'
import { tell } from '../notices.ts'
import { may } from '../session.ts'

/** Publishes one message for real. */
export function PublishDialog({ topic, published }: { topic: string; published(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const payload = useSignal('{\n  "hello": "world"\n}')
  const key = useSignal('')
  const error = useSignal('')
  const groups = topicNamed(topic)?.groups.length ?? 0
  const isAllowed = may('publish', topic) || may('admin', topic)
  const publish = async (event: Event): Promise<void> => {
    event.preventDefault()
    error.value = ''
    try {
      const body = { payload: JSON.parse(payload.value) as unknown, ...(key.value !== '' && { key: key.value }) }
      const { id } = await write<{ id: number }>('POST', `${at('topics', topic)}/messages`, body)
      dialog.current?.close()
      tell(`Published message ${id} to ${topic}.`)
      published()
    } catch (failure) {
      error.value =
        failure instanceof SyntaxError ? `The payload is not JSON: ${failure.message}` : (failure as Error).message
    }
  }
  return (
    <>
      <button
        type="button"
        disabled={!isAllowed || !isLive.value}
        title={isAllowed ? undefined : 'Needs the role publish. Log in with another token.'}
        onClick={() => dialog.current?.showModal()}
      >
        Publish
      </button>
      <dialog ref={dialog} aria-label={`Publish to ${topic}`}>
        <form class="stack" onSubmit={publish}>
          <h2>Publish to {topic}</h2>
          <label class="stack">
            Payload, as JSON
            <textarea
              rows={8}
              class="mono"
              value={payload.value}
              onInput={event => {
                payload.value = event.currentTarget.value
              }}
            />
          </label>
          <label class="stack">
            Key
            <input
              value={key.value}
              onInput={event => {
                key.value = event.currentTarget.value
              }}
            />
          </label>
          <p class="muted">It goes to {plural(groups, 'group')} for real.</p>
          {error.value !== '' && (
            <p class="bad" role="alert">
              {error}
            </p>
          )}
          <div class="row spread">
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" class="primary">
              Publish
            </button>
          </div>
        </form>
      </dialog>
    </>
  )
}

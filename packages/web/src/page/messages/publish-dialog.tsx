import { useSignal } from '@preact/signals'
import { pushQuery } from '../address.ts'
import { plural } from '../format.ts'
import { at, RawBody, write } from '../http.ts'
import { isLive, topicNamed } from '../live.ts'
import { tell } from '../notices.ts'
import { atNow } from '../parts/age.tsx'
import { Modal } from '../parts/confirm.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Failed } from '../parts/states.tsx'
import { bodyOf } from './publish-body.ts'

/** Publishes one message for real. */
export function PublishDialog({ topic, published }: { topic: string; published?: (() => void) | undefined }) {
  const isOpen = useSignal(false)
  const close = (): void => {
    isOpen.value = false
  }
  return (
    <>
      <GuardedButton
        needs="publish"
        topic={topic}
        kind="primary"
        press={() => {
          isOpen.value = true
        }}
      >
        Publish
      </GuardedButton>
      {isOpen.value && (
        <Modal label={`Publish to ${topic}`} closed={close} wide>
          <PublishForm topic={topic} close={close} published={published} />
        </Modal>
      )}
    </>
  )
}

function PublishForm({
  topic,
  close,
  published,
}: {
  topic: string
  close(): void
  published: (() => void) | undefined
}) {
  const payload = useSignal('{\n  "hello": "world"\n}')
  const key = useSignal('')
  const headers = useSignal('')
  const error = useSignal<unknown>(undefined)
  const isRunning = useSignal(false)
  const live = topicNamed(topic)
  const groups = live === undefined ? 0 : live.totals.groups - live.totals.cancelled
  const publish = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isRunning.value || !isLive.value) return
    error.value = undefined
    isRunning.value = true
    try {
      const body = bodyOf({ payload: payload.value, key: key.value, headers: headers.value })
      const { id } = await write<{ id: number }>('POST', `${at('topics', topic)}/messages`, new RawBody(body))
      close()
      tell(`Published message ${id} to ${topic}${atNow()}.`, {
        undo: { label: 'Look', run: () => pushQuery({ m: String(id) }) },
      })
      published?.()
    } catch (failure) {
      error.value = failure
    }
    isRunning.value = false
  }
  return (
    <form class="stack" onSubmit={publish} aria-busy={isRunning.value}>
      <h2>Publish to {topic}</h2>
      <label class="stack tight">
        Payload, as JSON
        <textarea
          rows={10}
          class="mono"
          spellcheck={false}
          data-first
          value={payload.value}
          onInput={event => {
            payload.value = event.currentTarget.value
          }}
        />
      </label>
      <div class="choices">
        <label class="stack tight">
          Key
          <input
            class="mono"
            spellcheck={false}
            placeholder="none"
            value={key.value}
            onInput={event => {
              key.value = event.currentTarget.value
            }}
          />
        </label>
        <label class="stack tight">
          Headers, one a line
          <textarea
            rows={2}
            class="mono"
            spellcheck={false}
            placeholder="source: by hand"
            value={headers.value}
            onInput={event => {
              headers.value = event.currentTarget.value
            }}
          />
        </label>
      </div>
      <p class="consequence">
        {groups === 0
          ? 'Nobody is subscribed: it reaches no group now.'
          : `It goes to ${plural(groups, 'group')} for real.`}
      </p>
      {error.value !== undefined && <Failed error={error.value} />}
      <div class="row buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="primary" aria-disabled={isRunning.value || !isLive.value ? true : undefined}>
          {isRunning.value ? 'Publishing…' : 'Publish'}
        </button>
      </div>
    </form>
  )
}

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { plural } from '../format.ts'
import { at, write } from '../http.ts'
import { isLive } from '../live.ts'
import { tell } from '../notices.ts'
import { may } from '../session.ts'
import type { GroupLive, TopicLive } from '../shapes.ts'

type Choice = 'beginning' | 'now' | 'timestamp' | 'messageId'

/** Moves a group's position, backward or forward, while it runs. */
export function ResetDialog({ topic, group }: { topic: TopicLive; group: GroupLive }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const choice = useSignal<Choice>('beginning')
  const time = useSignal('')
  const messageId = useSignal('')
  const error = useSignal('')
  const isRunning = useSignal(false)
  const name = group.group === '' ? topic.topic : group.group
  const isAllowed = may('operate', topic.topic)
  const to = (): unknown => {
    if (choice.value === 'timestamp') return { timestamp: new Date(time.value).toISOString() }
    return choice.value === 'messageId' ? { messageId: messageId.value } : choice.value
  }
  const move = async (event: Event): Promise<void> => {
    event.preventDefault()
    error.value = ''
    isRunning.value = true
    try {
      await write('POST', `${at('topics', topic.topic, 'groups', group.group)}/reset`, { to: to() })
      dialog.current?.close()
      tell(`Moved ${name} to ${choice.value === 'now' ? 'the newest message' : wordOf(choice.value)}.`)
    } catch (failure) {
      error.value = (failure as Error).message
    }
    isRunning.value = false
  }
  const radio = (value: Choice, label: string) => (
    <label class="row">
      <input
        type="radio"
        name="to"
        checked={choice.value === value}
        onChange={() => {
          choice.value = value
        }}
      />
      {label}
    </label>
  )
  return (
    <>
      <button
        type="button"
        disabled={!isAllowed || !isLive.value}
        title={isAllowed ? undefined : 'Needs the role operate. Log in with another token.'}
        onClick={() => dialog.current?.showModal()}
      >
        Reset…
      </button>
      <dialog ref={dialog} aria-label={`Move ${name}`}>
        <form class="stack" onSubmit={move}>
          <h2>Move {name} to</h2>
          {radio('beginning', 'the beginning: everything retained comes again')}
          {radio('now', `the end: ${plural(group.lagMessages, 'waiting message')} never reach it`)}
          <div class="row">
            {radio('timestamp', 'a time')}
            <input
              type="datetime-local"
              step="1"
              aria-label="Time"
              required={choice.value === 'timestamp'}
              value={time.value}
              onInput={event => {
                time.value = event.currentTarget.value
                choice.value = 'timestamp'
              }}
            />
          </div>
          <div class="row">
            {radio('messageId', 'a message')}
            <input
              aria-label="messageId"
              placeholder="messageId"
              required={choice.value === 'messageId'}
              value={messageId.value}
              onInput={event => {
                messageId.value = event.currentTarget.value
                choice.value = 'messageId'
              }}
            />
          </div>
          <p class="muted">
            What {name} holds is let go: {plural(group.inFlight, 'message')} in flight may be processed twice,{' '}
            {plural(group.retries, 'retry', 'retries')} drop.
          </p>
          {error.value !== '' && (
            <p class="bad" role="alert">
              {error}
            </p>
          )}
          <div class="row spread">
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" class="primary" disabled={isRunning.value}>
              Move
            </button>
          </div>
        </form>
      </dialog>
    </>
  )
}

const wordOf = (choice: Choice): string =>
  choice === 'beginning' ? 'the beginning' : choice === 'timestamp' ? 'that time' : 'that message'

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { moment } from '../format.ts'
import { at, Problem, write } from '../http.ts'
import { isLive } from '../live.ts'
import { tell } from '../notices.ts'
import { atNow } from '../parts/age.tsx'
import { Failed } from '../parts/states.tsx'
import { useWatched } from '../parts/watched.ts'
import { times } from '../preferences.ts'
import type { GroupLive, TopicLive } from '../shapes.ts'
import { letGoText, type ResetPreview, resetLabel, resetText } from './group-texts.ts'
import { type Choice, targetOf } from './reset-target.ts'
import { ResetTrack } from './reset-track.tsx'

type Ends = { readonly id: number; readonly at: string; readonly key: string | null }
type Preview = ResetPreview & { readonly first: Ends | null; readonly last: Ends | null }

/** A cursor that is dragged beyond the newest message. */
export const END = 'end'

/** The target, its effect, and the button with the number. `message`: where a dragged cursor points to. */
export function ResetForm({
  topic,
  group,
  message: given = '',
  blocked,
  close,
}: {
  topic: TopicLive
  group: GroupLive
  message?: string
  blocked?: string | undefined
  close(): void
}) {
  const choice = useSignal<Choice>(given === '' ? 'beginning' : given === END ? 'now' : 'message')
  const time = useSignal(localTime(new Date(Date.now() - 3_600_000)))
  const message = useSignal(given === END ? '' : given)
  const error = useSignal<unknown>(undefined)
  const isRunning = useSignal(false)
  const name = group.group === '' ? topic.topic : group.group
  const place = at('topics', topic.topic, 'groups', group.group)
  const asked = { choice: choice.value, time: time.value, message: message.value }
  const about = useQuiet(JSON.stringify(asked))
  const preview = useWatched(async (signal): Promise<Preview | null> => {
    const to = await targetOf(topic.topic, asked, signal)
    return to === undefined ? null : await write<Preview>('POST', `${place}/reset/preview`, { to }, { signal })
  }, about)
  const found = preview.value
  const isReady =
    found !== undefined &&
    found !== null &&
    about === JSON.stringify(asked) &&
    !preview.isSettling &&
    !isRunning.value &&
    blocked === undefined &&
    isLive.value
  const move = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!isReady || found === undefined || found === null) return
    error.value = undefined
    isRunning.value = true
    try {
      const to = await targetOf(topic.topic, asked, new AbortController().signal)
      await write('POST', `${place}/reset`, { to })
      close()
      tell(`Moved ${name}${resetLabel(found).slice('Move'.length)}${atNow()}.`)
    } catch (failure) {
      error.value = failure
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
    <form class="stack" onSubmit={move} aria-busy={isRunning.value}>
      <h2>Move {name} to</h2>
      <fieldset class="choices">
        <legend class="offscreen">Position</legend>
        {radio('beginning', 'the beginning')}
        {radio('now', 'the end')}
        <span class="row">
          {radio('timestamp', 'a time')}
          <input
            type="datetime-local"
            step="1"
            aria-label="Time"
            value={time.value}
            onInput={event => {
              time.value = event.currentTarget.value
              choice.value = 'timestamp'
            }}
          />
        </span>
        <span class="row">
          {radio('message', 'a message')}
          <input
            aria-label="Message"
            placeholder="number or messageId"
            value={message.value}
            spellcheck={false}
            onInput={event => {
              message.value = event.currentTarget.value
              choice.value = 'message'
            }}
          />
        </span>
      </fieldset>
      {blocked !== undefined ? (
        <p class="bad" role="alert">
          {blocked}
        </p>
      ) : preview.error !== undefined ? (
        <Trouble error={preview.error} oldestAt={topic.oldestAt} />
      ) : found === undefined ? (
        <div class="skeleton track" />
      ) : found === null ? (
        <p class="muted">Say which {choice.value === 'message' ? 'message' : 'time'}.</p>
      ) : (
        <>
          <ResetTrack topic={topic} preview={found} />
          <p class="consequence" aria-live="polite">
            <strong>
              {resetText(name, found, topic.config.tracking === 'reference')}
              {found.direction === 'back' && found.messages > 0 && firstWords(found.first)}
            </strong>
            <br />
            <span class="muted">{letGoText(name, found.inFlight, found.retries)}</span>
          </p>
        </>
      )}
      {error.value !== undefined && <Failed error={error.value} />}
      <div class="row buttons">
        <button type="button" onClick={close}>
          {blocked === undefined ? 'Cancel' : 'Close'}
        </button>
        <button type="submit" class="primary" aria-disabled={isReady ? undefined : true}>
          {isRunning.value ? 'Moving…' : found ? resetLabel(found) : 'Move'}
        </button>
      </div>
    </form>
  )
}

/** " (first: 14:00:00.113, key customer-1)." */
function firstWords(first: Ends | null): string {
  if (first === null) return '.'
  const time = new Date(first.at)
  const millis = String(time.getMilliseconds()).padStart(3, '0')
  const shown = `${moment(time, times.value === 'utc' ? 'utc' : 'local').replace(' UTC', '')}.${millis}`
  return ` (first: ${shown}${first.key === null ? '' : `, key ${first.key}`}).`
}

/** The position was cleaned up meanwhile: where the log begins now. */
function Trouble({ error, oldestAt }: { error: unknown; oldestAt: string | null }) {
  const isGone = error instanceof Problem && error.status === 410
  return (
    <>
      <Failed error={error} />
      {isGone && oldestAt !== null && (
        <p>The oldest kept is {moment(new Date(oldestAt), times.value === 'utc' ? 'utc' : 'local')}.</p>
      )}
    </>
  )
}

/** A debounced value: typing sends one request, not one per letter. */
function useQuiet(value: string): string {
  const quiet = useSignal(value)
  useEffect(() => {
    const timer = setTimeout(() => {
      quiet.value = value
    }, 250)
    return () => clearTimeout(timer)
  }, [value])
  return quiet.value
}

/** In the format of a field for local times. */
function localTime(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 19)
}

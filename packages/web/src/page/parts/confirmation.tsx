import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { isLive } from '../live.ts'
import { tell } from '../notices.ts'
import type { Needs } from './guarded-button.tsx'
import { Failed } from './states.tsx'
import { useWatched } from './watched.ts'

export type Action = {
  /** Label of the button. */
  readonly label: string
  /** Heading of the question, if it says more than the label. */
  readonly title?: string
  /** Label of the button that confirms. */
  readonly confirm?: string
  /** What it will do, in numbers. A function is called when the question opens, and repeatedly while it is open. */
  readonly text: string | ((signal: AbortSignal) => Promise<string>)
  /** What the text depends on besides the numbers, such as a choice: another value calls it again. */
  readonly about?: string
  readonly needs: Needs
  readonly topic?: string | undefined
  /** Reversible actions are confirmed beside the button, others in a dialog. */
  readonly ask?: 'popover' | 'dialog'
  readonly danger?: boolean
  /** Styled as a link, for a menu or a row. */
  readonly plain?: boolean
  /** The text that has to be typed before an irreversible action. */
  readonly typed?: string
  /** Why it is no longer possible, for example because somebody else has removed the group. */
  readonly blocked?: string | undefined
  /** Input fields of the question. */
  readonly fields?: ComponentChildren
  /** For screen readers, if several buttons have the same label. */
  readonly name?: string
  /** A key that presses the button. */
  readonly hotkey?: string
  /** Returns what was done, for the notice. */
  run(): Promise<string>
  readonly undo?: { readonly label: string; run(): Promise<unknown> } | undefined
}

/** What will happen, in numbers, and the button that does it. Enter confirms. */
export function Confirmation(action: Action & { close(): void }) {
  const { label, title, confirm = label, danger, typed, blocked, fields, run, undo, close } = action
  const { text: given, about } = action
  const preview = useWatched(async signal => (typeof given === 'string' ? given : await given(signal)), about)
  const { value: text = typeof given === 'string' ? given : undefined, error: unknown, isSettling } = preview
  const entered = useSignal('')
  const isRunning = useSignal(false)
  const error = useSignal<unknown>(undefined)
  const isTyped = typed === undefined || entered.value.trim() === typed
  const isReady =
    text !== undefined && isTyped && !isSettling && !isRunning.value && blocked === undefined && isLive.value
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!isReady) return
    isRunning.value = true
    error.value = undefined
    try {
      const done = await run()
      close()
      tell(done, undo && { undo: { label: undo.label, run: () => void undo.run().catch(tellFailure) } })
    } catch (failure) {
      error.value = failure
    }
    isRunning.value = false
  }
  return (
    <form class="stack" onSubmit={submit} aria-busy={isRunning.value}>
      <h2>{title ?? label}</h2>
      {blocked !== undefined ? (
        <p class="bad" role="alert">
          {blocked}
        </p>
      ) : text !== undefined ? (
        <p class="consequence" aria-live="polite">
          {text}
        </p>
      ) : unknown === undefined ? (
        <div class="skeleton" />
      ) : (
        <Failed error={unknown} />
      )}
      {fields}
      {typed !== undefined && (
        <label class="stack">
          <span>
            Type <code>{typed}</code> to confirm
          </span>
          <input
            data-first
            value={entered.value}
            onInput={event => {
              entered.value = event.currentTarget.value
            }}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      )}
      {error.value !== undefined && <Failed error={error.value} />}
      <div class="row buttons">
        <button type="button" onClick={close}>
          {blocked === undefined ? 'Cancel' : 'Close'}
        </button>
        <button
          type="submit"
          class={danger ? 'primary danger' : 'primary'}
          aria-disabled={isReady ? undefined : true}
          {...(typed === undefined && { 'data-first': true })}
        >
          {isRunning.value ? 'Working…' : confirm}
        </button>
      </div>
    </form>
  )
}

const tellFailure = (failure: Error): void => tell(failure.message, { kind: 'failed' })

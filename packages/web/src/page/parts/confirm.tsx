import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isLive } from '../live.ts'
import { tell } from '../notices.ts'
import { may } from '../session.ts'

type Action = {
  /** Label of the button. */
  readonly label: string
  /** What it will do, in numbers. A function is asked when it opens: the numbers are of that moment. */
  readonly text: string | (() => Promise<string>)
  readonly needs: 'operate' | 'admin' | 'publish'
  readonly topic?: string
  readonly danger?: boolean
  /** The text that has to be typed before something that cannot be undone. */
  readonly typed?: string
  /** Says what was done, for the notice. */
  run(): Promise<string>
  readonly undo?: { readonly label: string; run(): Promise<unknown> }
}

/** A button that says beforehand what it will do and afterwards what it did. */
export function ActionButton(action: Action) {
  const dialog = useRef<HTMLDialogElement>(null)
  const isOpen = useSignal(false)
  const isAllowed = may(action.needs, action.topic)
  return (
    <>
      <button
        type="button"
        class={action.danger ? 'danger' : ''}
        disabled={!isAllowed || !isLive.value}
        title={isAllowed ? undefined : `Needs the role ${action.needs}. Log in with another token.`}
        onClick={() => {
          isOpen.value = true
          dialog.current?.showModal()
        }}
      >
        {action.label}
      </button>
      <dialog
        ref={dialog}
        onClose={() => {
          isOpen.value = false
        }}
        aria-label={action.label}
      >
        {isOpen.value && <Confirmation {...action} close={() => dialog.current?.close()} />}
      </dialog>
    </>
  )
}

function Confirmation({ label, text, danger, typed, run, undo, close }: Action & { close(): void }) {
  const shown = useSignal<string | undefined>(typeof text === 'string' ? text : undefined)
  const entered = useSignal('')
  const isRunning = useSignal(false)
  const error = useSignal('')
  useEffect(() => {
    if (typeof text === 'function')
      text().then(
        found => {
          shown.value = found
        },
        failure => {
          error.value = failure.message
        },
      )
  }, [])
  const isReady = shown.value !== undefined && (typed === undefined || entered.value === typed) && !isRunning.value
  const confirm = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!isReady) return
    isRunning.value = true
    try {
      const done = await run()
      close()
      tell(done, undo && { undo: { label: undo.label, run: () => void undo.run().catch(failed) } })
    } catch (failure) {
      error.value = (failure as Error).message
    }
    isRunning.value = false
  }
  return (
    <form class="stack" onSubmit={confirm}>
      <h2>{label}</h2>
      {shown.value === undefined && error.value === '' ? <div class="skeleton" /> : <p>{shown}</p>}
      {typed !== undefined && (
        <label class="stack">
          <span>
            Type <code>{typed}</code> to confirm
          </span>
          <input
            value={entered.value}
            onInput={event => {
              entered.value = event.currentTarget.value
            }}
            autocomplete="off"
          />
        </label>
      )}
      {error.value !== '' && (
        <p class="bad" role="alert">
          {error}
        </p>
      )}
      <div class="row spread">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class={danger ? 'danger' : 'primary'} disabled={!isReady}>
          {label}
        </button>
      </div>
    </form>
  )
}

const failed = (failure: Error): void => tell(failure.message, { kind: 'failed' })

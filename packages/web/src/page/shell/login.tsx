import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { logIn } from '../session.ts'

/** Over the page, so that afterwards everything is where it was. */
export function Login() {
  const dialog = useRef<HTMLDialogElement>(null)
  const token = useSignal('')
  const error = useSignal('')
  useEffect(() => dialog.current?.showModal(), [])
  const open = async (event: Event): Promise<void> => {
    event.preventDefault()
    error.value = ''
    await logIn(token.value).catch(failure => {
      error.value = failure.message
    })
  }
  return (
    <dialog ref={dialog} onCancel={event => event.preventDefault()} aria-labelledby="login">
      <form class="stack" onSubmit={open}>
        <h1 id="login">Tidemark at {location.host}</h1>
        <label class="stack">
          <span>Token</span>
          <input
            type="password"
            name="password"
            autocomplete="current-password"
            required
            value={token.value}
            onInput={event => {
              token.value = event.currentTarget.value
            }}
          />
        </label>
        <p class="muted small">A read token looks, an operate or admin token acts.</p>
        {error.value !== '' && (
          <p class="bad" role="alert">
            {error}
          </p>
        )}
        <div class="row">
          <button type="submit" class="primary">
            Open
          </button>
        </div>
      </form>
    </dialog>
  )
}

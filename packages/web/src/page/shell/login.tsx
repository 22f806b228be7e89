import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { now } from '../clock.ts'
import { Problem } from '../http.ts'
import { isChangingToken, logIn, logOut, session } from '../session.ts'

/** Shown over the page, so that everything is where it was afterwards. */
export function Login() {
  const dialog = useRef<HTMLDialogElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const token = useSignal('')
  const error = useSignal('')
  const isRunning = useSignal(false)
  /** After too many wrong tokens the server accepts none for a while. */
  const blockedUntil = useSignal(0)
  useEffect(() => dialog.current?.showModal(), [])
  const canLeave = Boolean(session.value)
  const waitSeconds = Math.ceil((blockedUntil.value - now.value) / 1000)
  const open = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isRunning.value || waitSeconds > 0) return
    error.value = ''
    isRunning.value = true
    try {
      await logIn(token.value)
    } catch (failure) {
      if (failure instanceof Problem && failure.status === 429)
        blockedUntil.value = Date.now() + (failure.retryAfterMs ?? 60_000)
      else error.value = wordsOf(failure)
      field.current?.select()
    }
    isRunning.value = false
  }
  return (
    <dialog
      ref={dialog}
      class="login"
      onCancel={event => {
        if (!canLeave) event.preventDefault()
      }}
      onClose={() => {
        isChangingToken.value = false
      }}
      aria-labelledby="login"
    >
      <form class="stack" onSubmit={open}>
        <h1 id="login">Tidemark at {location.host}</h1>
        <label class="stack">
          <span>Token</span>
          <input
            ref={field}
            type="password"
            name="password"
            autocomplete="current-password"
            required
            aria-invalid={error.value !== ''}
            value={token.value}
            onInput={event => {
              token.value = event.currentTarget.value
            }}
          />
        </label>
        <p class="muted small">A read token looks, an operate or admin token acts.</p>
        {waitSeconds > 0 ? (
          <p class="bad" role="alert">
            Too many wrong tokens came from this address. Try again in {waitSeconds} s.
          </p>
        ) : (
          error.value !== '' && (
            <p class="bad" role="alert">
              {error}
            </p>
          )
        )}
        <div class="row spread">
          {canLeave ? (
            <span class="row">
              <button type="button" onClick={() => dialog.current?.close()}>
                Cancel
              </button>
              {session.value?.by === 'session' && (
                <button type="button" class="plain" onClick={() => void logOut()}>
                  Log out
                </button>
              )}
            </span>
          ) : (
            <span />
          )}
          <button type="submit" class="primary" disabled={isRunning.value || waitSeconds > 0}>
            {isRunning.value ? 'Opening…' : 'Open'}
          </button>
        </div>
      </form>
    </dialog>
  )
}

function wordsOf(failure: unknown): string {
  if (failure instanceof Problem && failure.status === 401)
    return 'This token is not known, or it has expired. Ask whoever runs this server for another.'
  return failure instanceof Error ? failure.message : String(failure)
}

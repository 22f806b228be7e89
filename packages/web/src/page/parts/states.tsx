import { copy } from '../copy.ts'
import { Problem } from '../http.ts'
import { useLate } from './skeleton.tsx'

const NOT_SERVED = 'TIDEMARK_NOT_SERVED'
export const INVALID = 'TIDEMARK_VALIDATION'

/** A part of a screen: nothing for 150 ms, so that quick results do not flicker; then as many rows as it will have. */
export function Loading({ rows = 4 }: { rows?: number }) {
  const isLate = useLate()
  if (!isLate) return null
  return (
    <div class="stack" role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} class="skeleton" />
      ))}
    </div>
  )
}

/** Only this panel failed: the server's message, and a retry button. */
export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  const { message } = error instanceof Error ? error : new Error(String(error))
  // Nothing is broken: this server was started without the part, and a retry would not help.
  if (error instanceof Problem && error.code === NOT_SERVED)
    return (
      <Empty isWhole title="Not served here">
        {message}
      </Empty>
    )
  // Somebody has typed an address, or cut a link: the server's words name its parameters.
  const isInvalid = error instanceof Problem && error.code === INVALID
  return (
    <div class="problem" role="alert">
      <strong>{isInvalid ? 'The address of this page asks for something that cannot be' : message}</strong>
      {error instanceof Problem && <code class="muted">{isInvalid ? message : error.code}</code>}
      {retry && !isInvalid && (
        <button type="button" onClick={retry}>
          Retry
        </button>
      )}
    </div>
  )
}

/** What belongs here, and how to create the first one. */
export function Empty({
  title,
  children,
  command,
  isWhole = false,
}: {
  title: string
  /** Nothing else is on the screen: its title is the heading of the page. */
  isWhole?: boolean
  children?: preact.ComponentChildren
  command?: string
}) {
  return (
    <div class="empty">
      {isWhole ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children && <p class="muted">{children}</p>}
      {command !== undefined && <Command text={command} />}
    </div>
  )
}

function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" class="plain" onClick={() => void copy(text, 'the command')}>
        Copy
      </button>
    </div>
  )
}

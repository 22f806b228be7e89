import { signal } from '@preact/signals'

/** The result of an action, with how to undo it. Shown for ten seconds. */
export type Notice = {
  readonly id: number
  readonly text: string
  readonly kind: 'done' | 'failed'
  readonly undo?: { readonly label: string; run(): void }
}

export const notices = signal<readonly Notice[]>([])
/** Read by screen readers: at most one sentence in five seconds, never a rate. */
export const spoken = signal('')

const STAYS_MS = 10_000
const QUIET_MS = 5_000
let last = 0
let spokenAt = 0
let waiting = 0

export function tell(text: string, more: Partial<Pick<Notice, 'kind' | 'undo'>> = {}): void {
  const notice: Notice = { id: ++last, text, kind: 'done', ...more }
  notices.value = [...notices.value.slice(-2), notice]
  setTimeout(() => dismiss(notice.id), STAYS_MS)
  speak(text)
}

export const dismiss = (id: number): void => {
  notices.value = notices.value.filter(each => each.id !== id)
}

/** If several arrive within the quiet time, the newest wins. */
function speak(text: string): void {
  clearTimeout(waiting)
  const wait = Math.max(0, spokenAt + QUIET_MS - Date.now())
  waiting = setTimeout(() => {
    spokenAt = Date.now()
    spoken.value = text
  }, wait)
}

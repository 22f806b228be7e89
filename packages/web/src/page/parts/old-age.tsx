import { now } from '../clock.ts'
import { duration } from '../format.ts'
import { connection } from '../live.ts'

/** How old values are, while the server does not answer. Otherwise nothing. */
export function OldAge() {
  const { state, lastAt } = connection.value
  if (state !== 'lost') return null
  return <span class="muted small">{duration(now.value - lastAt)} old</span>
}

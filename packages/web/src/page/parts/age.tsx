import { ageOf } from '../clock.ts'
import { clock, duration, moment } from '../format.ts'
import { times } from '../preferences.ts'

/** A time as the reader has chosen: relative, local or UTC. The title has it whole. */
export function Age({ at }: { at: string | null }) {
  if (at === null) return <span class="muted">–</span>
  const time = new Date(at)
  const zone = times.value === 'utc' ? 'utc' : 'local'
  const text = times.value === 'relative' ? `${duration(ageOf(at))} ago` : clock(time, zone)
  return (
    <time dateTime={at} title={moment(time, zone)}>
      {text}
    </time>
  )
}

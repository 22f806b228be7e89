import { ageOf, untilOf } from '../clock.ts'
import { clock, duration, moment } from '../format.ts'
import { times } from '../preferences.ts'

/** A time as the user has chosen: relative, local or UTC. The title has the full time. */
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

/** A future time: "in 12 s", "14:03:10", or that it has passed. */
export function Until({ at, over = 'now' }: { at: string; over?: string }) {
  const time = new Date(at)
  const zone = times.value === 'utc' ? 'utc' : 'local'
  const leftMs = untilOf(at)
  const relative = leftMs <= 0 ? over : `in ${duration(leftMs)}`
  return (
    <time dateTime={at} title={moment(time, zone)}>
      {times.value === 'relative' ? relative : clock(time, zone)}
    </time>
  )
}

/** " at 14:02:11", for an action that was just done. */
export const atNow = (): string => ` at ${clock(new Date(), times.value === 'utc' ? 'utc' : 'local')}`

import { now } from '../clock.ts'
import { clock, count, duration } from '../format.ts'
import { connection, frozen, missedWhileFrozen, toggleFrozen } from '../live.ts'
import { Mark } from '../parts/mark.tsx'
import { zone } from '../parts/zone.ts'

/** Whether figures arrive, and how old they are. */
export function ConnectionBadge() {
  const { state, lastAt, retryInMs } = connection.value
  if (frozen.value)
    return (
      <button type="button" class="plain connection" title="Resume live updates (l)" onClick={toggleFrozen}>
        <Mark kind="paused" word="frozen">
          frozen · {count(missedWhileFrozen.value)} missed
        </Mark>
      </button>
    )
  if (state === 'live')
    return (
      <span class="connection" title="Figures arrive by themselves. Freeze them with l.">
        <Mark kind="ok" word="live">
          live <span class="connection-age">· {ageText(now.value - lastAt)}</span>
        </Mark>
      </span>
    )
  if (state === 'lost')
    return (
      <span class="connection">
        <Mark kind="off" word="disconnected">
          last {clock(new Date(lastAt), zone())}, retrying in {duration(Math.max(1000, retryInMs))}
        </Mark>
      </span>
    )
  return (
    <span class="connection">
      <Mark kind="off" word="connecting">
        connecting
      </Mark>
    </span>
  )
}

/** 0.2 s: a width that stays the same. */
const ageText = (ms: number): string => `${(Math.max(0, ms) / 1_000).toFixed(1)}\u202fs`

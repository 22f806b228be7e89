import { whole } from '../format.ts'
import type { TopicLive } from '../shapes.ts'
import type { ResetPreview } from './group-texts.ts'

/**
 * The log as a line: the group's current position, and the new one. The drawing is decorative; the text has the
 * numbers.
 */
export function ResetTrack({ topic, preview }: { topic: TopicLive; preview: ResetPreview }) {
  const first = topic.first ?? 1
  const last = Math.max(first, topic.last ?? first)
  const share = (position: number | null): number =>
    Math.min(1, Math.max(0, ((position ?? first) - first + 1) / Math.max(1, last - first + 1)))
  const [now, next] = [share(preview.from), share(preview.to)]
  const x = (part: number): number => 12 + part * 576
  const [left, right] = [Math.min(now, next), Math.max(now, next)]
  const isClose = Math.abs(x(now) - x(next)) < 44
  return (
    <svg
      class="track"
      viewBox="0 0 600 56"
      role="img"
      aria-label={`From ${whole(preview.from ?? 0)} to ${whole(preview.to ?? 0)}`}
    >
      <path d="M12 14V30M588 14V30M12 22H588" class="track-bed" />
      <path d={`M${x(left)} 22H${x(right)}`} class={preview.direction === 'back' ? 'track-back' : 'track-forward'} />
      <circle cx={x(now)} cy="22" r="6" class="track-now" />
      <circle cx={x(next)} cy="22" r="7" class="track-next" />
      {!isClose && (
        <text x={x(now)} y="50" text-anchor={anchorOf(now)}>
          now
        </text>
      )}
      <text x={x(next)} y="50" text-anchor={anchorOf(next)} class="track-word">
        {isClose ? 'new, now' : 'new'}
      </text>
    </svg>
  )
}

const anchorOf = (part: number): 'start' | 'middle' | 'end' => (part < 0.06 ? 'start' : part > 0.94 ? 'end' : 'middle')

import { clock, duration } from '../format.ts'
import { zone } from '../parts/zone.ts'
import type { Letter } from './letter-shapes.ts'

const WIDTH = 560
const EDGE = 14

/** Each attempt at its time, from the first one to the last, and what each of them failed with. */
export function AttemptsLine({ letter }: { letter: Letter }) {
  const { history } = letter
  const times = history.map(({ at }) => Date.parse(at))
  const [first = 0, last = first] = [times[0], times.at(-1)]
  const x = (time: number): number =>
    EDGE + (last === first ? 0.5 : (time - first) / (last - first)) * (WIDTH - 2 * EDGE)
  if (history.length === 0) return <p class="muted small">No attempt is recorded.</p>
  return (
    <>
      <svg
        class="attempts"
        viewBox={`0 0 ${WIDTH} 40`}
        role="img"
        aria-label={`${letter.attempts} attempts within ${duration(last - first)}`}
      >
        <path d={`M${EDGE} 16H${WIDTH - EDGE}`} class="track-bed" />
        {history.map((attempt, index) => {
          const here = times[index] ?? first
          const before = times[index - 1]
          const gap = before === undefined ? 0 : x(here) - x(before)
          return (
            <g key={attempt.attempt}>
              <circle cx={x(here)} cy="16" r="6" class={index === history.length - 1 ? 'attempt-last' : 'attempt'} />
              {before !== undefined && gap > 34 && (
                <text x={x(before) + gap / 2} y="36" text-anchor="middle">
                  {duration(here - before)}
                </text>
              )}
            </g>
          )
        })}
      </svg>
      <ol class="attempt-list small">
        {history.map(attempt => (
          <li key={attempt.attempt}>
            <span class="muted">{attempt.attempt}.</span>
            <span class="mono muted">{clock(new Date(attempt.at), zone())}</span>
            <span>
              {attempt.name}: {attempt.message}
            </span>
          </li>
        ))}
      </ol>
      {letter.attempts > history.length && (
        <p class="muted small">
          The newest {history.length} of {letter.attempts} attempts are kept.
        </p>
      )}
    </>
  )
}

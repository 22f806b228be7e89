import type { RunState } from './run-state.ts'

/** The number of living organisms over time, behind the timeline. */
export function Population({ run }: { run: RunState }) {
  const points = run.series.value
  const range = run.range.value
  const [first] = points
  const last = points.at(-1)
  if (first === undefined || last === undefined || points.length < 2 || range === null) return null
  const most = points.reduce((highest, { alive }) => Math.max(highest, alive), 1)
  const span = Math.max(1, range.tickEnd - range.tickStart)
  const xOf = (tick: number): string => (((tick - range.tickStart) / span) * 1000).toFixed(1)
  const path = points.map(({ tick, alive }) => `${xOf(tick)} ${(40 - (alive / most) * 36).toFixed(1)}`).join('L')
  return (
    <svg viewBox="0 0 1000 40" preserveAspectRatio="none" aria-hidden="true">
      <path d={`M${xOf(first.tick)} 40L${path}L${xOf(last.tick)} 40Z`} fill="currentColor" fill-opacity=".28" />
      <path d={`M${path}`} fill="none" stroke="currentColor" stroke-width="1.2" vector-effect="non-scaling-stroke" />
    </svg>
  )
}

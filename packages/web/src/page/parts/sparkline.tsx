/** A line of the last minutes, with a sentence for whoever cannot see it. null: unknown, a gap in the line. */
export function Sparkline({ values, says }: { values: readonly (number | null)[]; says: string }) {
  const known = values.filter(value => value !== null)
  const most = Math.max(1, ...known)
  const step = 120 / Math.max(1, values.length - 1)
  let pen = 'M'
  const line = values
    .map((value, index) => {
      if (value === null) {
        pen = 'M'
        return ''
      }
      const point = `${pen}${(index * step).toFixed(1)} ${(22 - (value / most) * 20).toFixed(1)}`
      pen = 'L'
      return point
    })
    .join('')
  return (
    <svg class="spark" viewBox="0 0 120 24" preserveAspectRatio="none" role="img" aria-label={says}>
      <path d="M0 22H120" stroke="currentColor" stroke-opacity=".25" vector-effect="non-scaling-stroke" />
      <path
        d={line}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linejoin="round"
        vector-effect="non-scaling-stroke"
      />
    </svg>
  )
}

/** "rising to 310/s", "falling to 4/s", "steady at 12/s". */
export function trend(values: readonly (number | null)[], text: (value: number) => string): string {
  const known = values.filter(value => value !== null)
  const last = known.at(-1)
  if (last === undefined) return 'nothing known yet'
  const earlier = known.slice(0, -Math.max(1, Math.floor(known.length / 4)))
  const mean = earlier.reduce((sum, value) => sum + value, 0) / Math.max(1, earlier.length)
  const word = last > mean * 1.2 ? 'rising to' : last < mean * 0.8 ? 'falling to' : 'steady at'
  return `${word} ${text(last)}`
}

const [WIDTH, HEIGHT] = [120, 24]

/** A line of the last minutes, with a sentence for screen readers. null: unknown, a gap in the line. */
export function Sparkline({ values, says }: { values: readonly (number | null)[]; says: string }) {
  const runs = runsOf(values)
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={says}>
      <path class="spark-ground" d={`M0 ${HEIGHT - 1}H${WIDTH}`} vector-effect="non-scaling-stroke" />
      <path
        class="spark-area"
        d={runs.map(run => `M${run[0]?.[0]} ${HEIGHT - 1}L${run.map(pair).join('L')}V${HEIGHT - 1}Z`).join('')}
      />
      <path
        class="spark-line"
        d={runs.map(run => `M${run.map(pair).join('L')}${run.length === 1 ? 'h.01' : ''}`).join('')}
        vector-effect="non-scaling-stroke"
      />
    </svg>
  )
}

type Point = readonly [x: number, y: number]

const pair = ([x, y]: Point): string => `${x} ${y}`

/** Contiguous known parts, as points of the drawing. */
function runsOf(values: readonly (number | null)[]): readonly (readonly Point[])[] {
  const most = Math.max(1, ...values.map(value => value ?? 0))
  const step = WIDTH / Math.max(1, values.length - 1)
  const runs: Point[][] = []
  let before: number | null = null
  for (const [index, value] of values.entries()) {
    if (value !== null) {
      if (before === null) runs.push([])
      runs.at(-1)?.push([rounded(index * step), rounded(HEIGHT - 1 - (value / most) * (HEIGHT - 3))])
    }
    before = value
  }
  return runs
}

const rounded = (value: number): number => Math.round(value * 10) / 10

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

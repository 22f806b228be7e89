import { count, whole } from '../format.ts'
import { ScrollBox } from '../parts/scroll-box.tsx'
import type { Line } from './charts.tsx'
import type { SeriesPoint } from './run-shapes.ts'

const ROWS = 24

/** A chart in numbers: evenly chosen points, the newest first. */
export function ChartTable({
  title,
  points,
  lines,
}: {
  title: string
  points: readonly SeriesPoint[]
  lines: readonly Line[]
}) {
  const step = Math.max(1, Math.ceil(points.length / ROWS))
  const rows = points.filter((_, index) => (points.length - 1 - index) % step === 0).toReversed()
  return (
    <div class="chart-table">
      <ScrollBox label={`${title}, as a table`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Tick</th>
              {lines.map(({ label }) => (
                <th key={label} scope="col" class="number">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(point => (
              <tr key={point.tick}>
                <th scope="row">{whole(point.tick)}</th>
                {lines.map(line => (
                  <td key={line.label} class="number">
                    {count(line.of(point))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </div>
  )
}

import { query, replaceQuery } from '../address.ts'
import { count, rate } from '../format.ts'
import { get } from '../http.ts'
import { Chart } from '../parts/chart.tsx'
import { useLoaded } from '../parts/load.ts'
import { Failed } from '../parts/states.tsx'

type Column = readonly (number | null)[]
type History = {
  readonly step: '1s' | '10s' | '1m'
  readonly end: string
  readonly series: {
    readonly [name: string]: { readonly published?: Column; readonly consumed?: Column; readonly lag?: Column }
  }
}

const STEPS = { '1s': 1, '10s': 10, '1m': 60 } as const
const POINTS = { '1s': 300, '10s': 360, '1m': 1440 } as const

const SPANS = [
  ['1s', '5 min'],
  ['10s', '1 h'],
  ['1m', '24 h'],
] as const

/** Incoming, outgoing and waiting messages over five minutes, an hour or a day. */
export function HistoryCharts({ topic, group }: { topic: string; group: string }) {
  const given = query.value.get('step')
  const step = given === '10s' || given === '1m' ? given : '1s'
  const [topicSeries, groupSeries] = [`topic:${topic}`, `group:${topic}/${group}`]
  const history = useLoaded(
    signal =>
      get<History>('/history', {
        signal,
        query: { series: `${topicSeries},${groupSeries}`, step, points: POINTS[step] },
      }),
    [topic, group, step],
    1_000 * STEPS[step],
  )
  const found = history.value.value
  const end = found === undefined ? 0 : Math.floor(Date.parse(found.end) / 1000)
  const length = found?.series[topicSeries]?.published?.length ?? 0
  const times = Array.from({ length }, (_, index) => end - (length - 1 - index) * STEPS[found?.step ?? '1s'])
  const drawn = (column: Column = new Array(length).fill(null)): Column => column
  const points = { topic: found?.series[topicSeries], group: found?.series[groupSeries] }
  return (
    <div class="stack">
      <fieldset class="row segments">
        <legend class="offscreen">Span of the charts</legend>
        {SPANS.map(([each, label]) => (
          <button
            key={each}
            type="button"
            aria-pressed={step === each}
            onClick={() => replaceQuery({ step: each === '1s' ? null : each })}
          >
            {label}
          </button>
        ))}
      </fieldset>
      {history.error.value !== undefined ? (
        <Failed error={history.error.value} retry={history.reload} />
      ) : (
        <div class="charts">
          <Chart
            title="In and out"
            sync={groupSeries}
            times={times}
            text={value => `${rate(value)}/s`}
            lines={[
              { label: 'in', colour: 'muted', values: drawn(points.topic?.published) },
              { label: 'out', colour: 'accent', values: drawn(points.group?.consumed) },
            ]}
          />
          <Chart
            title="Lag"
            sync={groupSeries}
            times={times}
            text={count}
            lines={[{ label: 'messages', colour: 'warning', values: drawn(points.group?.lag) }]}
          />
        </div>
      )}
    </div>
  )
}

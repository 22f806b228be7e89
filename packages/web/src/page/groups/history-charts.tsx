import { useSignal } from '@preact/signals'
import { get } from '../http.ts'
import { Chart } from '../parts/chart.tsx'
import { useLoaded } from '../parts/load.ts'

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

/** Incoming, outgoing and waiting messages over five minutes, an hour or a day. */
export function HistoryCharts({ topic, group }: { topic: string; group: string }) {
  const step = useSignal<keyof typeof STEPS>('1s')
  const [topicSeries, groupSeries] = [`topic:${topic}`, `group:${topic}/${group}`]
  const history = useLoaded(
    signal =>
      get<History>('/history', {
        signal,
        query: { series: `${topicSeries},${groupSeries}`, step: step.value, points: POINTS[step.value] },
      }),
    [topic, group, step.value],
    1_000 * STEPS[step.value],
  )
  const found = history.value.value
  const end = found === undefined ? 0 : Math.floor(Date.parse(found.end) / 1000)
  const length = found?.series[topicSeries]?.published?.length ?? 0
  const times = Array.from({ length }, (_, index) => end - (length - 1 - index) * STEPS[found?.step ?? '1s'])
  const none: Column = new Array(length).fill(null)
  return (
    <div class="stack">
      <fieldset class="row" aria-label="Span">
        {(['1s', '10s', '1m'] as const).map((each, index) => (
          <button
            key={each}
            type="button"
            aria-pressed={step.value === each}
            onClick={() => {
              step.value = each
            }}
          >
            {['5 min', '1 h', '24 h'][index]}
          </button>
        ))}
      </fieldset>
      <div class="charts">
        <Chart
          title="In and out per second"
          times={times}
          lines={[
            { label: 'in', colour: '#8a93a0', values: found?.series[topicSeries]?.published ?? none },
            { label: 'out', colour: '#4cc2c9', values: found?.series[groupSeries]?.consumed ?? none },
          ]}
        />
        <Chart
          title="Lag in messages"
          times={times}
          lines={[{ label: 'lag', colour: '#e0a100', values: found?.series[groupSeries]?.lag ?? none }]}
        />
      </div>
    </div>
  )
}

import { effect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { colourOf } from '../parts/colours.ts'
import type { SeriesPoint } from './run-shapes.ts'
import type { RunState } from './run-state.ts'

type Line = { readonly label: string; readonly colour: string; of(point: SeriesPoint): number }

const CHARTS: readonly { readonly title: string; readonly lines: readonly Line[] }[] = [
  { title: 'Population', lines: [{ label: 'alive', colour: '#4cc2c9', of: ({ alive }) => alive }] },
  {
    title: 'Births and deaths',
    lines: [
      { label: 'births', colour: '#2da67c', of: ({ births }) => births },
      { label: 'deaths', colour: '#f2555a', of: ({ deaths }) => deaths },
    ],
  },
  { title: 'Mean energy', lines: [{ label: 'energy', colour: '#e0a100', of: ({ meanEnergy }) => meanEnergy }] },
]

const TYPE_COLOURS = ['#8a93a0', '#f0c419', '#2b78c5', '#ff5c8a', '#b9c2cd']

/** Series of the run. One crosshair goes through all charts and the timeline; a click goes to that tick. */
export function Charts({ run, types }: { run: RunState; types: readonly string[] }) {
  const composition = {
    title: 'Cells',
    lines: types.slice(1).map(
      (label, index): Line => ({
        label,
        colour: TYPE_COLOURS[(index + 1) % TYPE_COLOURS.length] ?? '#888',
        of: ({ cells }) => cells[index + 1] ?? 0,
      }),
    ),
  }
  return (
    <div class="charts">
      {[...CHARTS, composition].map(chart => (
        <Chart key={chart.title} run={run} {...chart} />
      ))}
    </div>
  )
}

const HEIGHT = 150

function Chart({ run, title, lines }: { run: RunState; title: string; lines: readonly Line[] }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    let plot: uPlot | undefined
    let isGone = false
    const stops: (() => void)[] = []
    void import('uplot').then(({ default: Plot }) => {
      if (isGone) return
      const made = new Plot(optionsOf(element, lines, run), dataOf(run.series.peek(), lines), element)
      plot = made
      stops.push(effect(() => made.setData(dataOf(run.series.value, lines))))
      stops.push(
        effect(() => {
          const left = made.valToPos(run.shown.value, 'x')
          made.setCursor({ left, top: 10 }, false)
        }),
      )
      const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }))
      observer.observe(element)
      stops.push(() => observer.disconnect())
    })
    return () => {
      isGone = true
      for (const stop of stops) stop()
      plot?.destroy()
    }
  }, [run])
  return (
    <figure class="panel chart">
      <figcaption class="row spread">
        <h3>{title}</h3>
      </figcaption>
      <div ref={place} />
    </figure>
  )
}

const dataOf = (points: readonly SeriesPoint[], lines: readonly Line[]): uPlot.AlignedData => [
  points.map(({ tick }) => tick),
  ...lines.map(line => points.map(point => line.of(point))),
]

function optionsOf(element: HTMLElement, lines: readonly Line[], run: RunState): uPlot.Options {
  const [muted, grid] = [colourOf('muted'), colourOf('line')]
  const axis = { stroke: muted, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '12px system-ui' }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false } },
    axes: [axis, { ...axis, size: 48 }],
    legend: { live: true },
    cursor: { sync: { key: run.runId }, drag: { x: true, y: false }, points: { size: 6 } },
    series: [{ label: 'tick' }, ...lines.map(({ label, colour }) => ({ label, stroke: colour, width: 1.5 }))],
    hooks: {
      ready: [
        plot => {
          plot.over.addEventListener('click', event => run.goTo(plot.posToVal(event.offsetX, 'x')))
        },
      ],
    },
  }
}

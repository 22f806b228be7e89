import { effect, type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { count, whole } from '../format.ts'
import { colourOf } from '../parts/colours.ts'
import { ChartTable } from './chart-table.tsx'
import { isDark } from './dark.ts'
import { kindsOf } from './kinds.ts'
import { kindColourText } from './palette.ts'
import type { SeriesPoint } from './run-shapes.ts'
import type { RunState } from './run-state.ts'
import { Zoom } from './zoom.ts'

export type Line = { readonly label: string; colour(): string; of(point: SeriesPoint): number }

const CHARTS: readonly { readonly title: string; readonly lines: readonly Line[] }[] = [
  { title: 'Population', lines: [{ label: 'alive', colour: () => colourOf('accent'), of: ({ alive }) => alive }] },
  {
    title: 'Births and deaths',
    lines: [
      { label: 'births', colour: () => colourOf('ok'), of: ({ births }) => births },
      { label: 'deaths', colour: () => colourOf('bad'), of: ({ deaths }) => deaths },
    ],
  },
  {
    title: 'Mean energy',
    lines: [{ label: 'energy', colour: () => colourOf('energy'), of: point => point.meanEnergy }],
  },
]

/** Series of the run. One crosshair goes through all charts and the timeline; a click goes to that tick, a drag zooms. */
export function Charts({ run, types }: { run: RunState; types: readonly string[] }) {
  const zoom = useSignal<Zoom | undefined>(undefined)
  useEffect(() => {
    zoom.value = new Zoom(run)
    return () => zoom.value?.close()
  }, [run])
  const kinds = kindsOf(types)
  const composition = {
    title: 'Composition',
    lines: types.slice(1).map(
      (name, index): Line => ({
        label: name || `type ${index + 1}`,
        colour: () => kindColourText(kinds[index + 1] ?? 0, isDark()),
        of: ({ cells }) => cells[index + 1] ?? 0,
      }),
    ),
  }
  const zoomed = zoom.value
  if (zoomed === undefined) return null
  return (
    <section class="stack" aria-label="Charts">
      {zoomed.span.value !== undefined && (
        <p class="row small">
          Ticks {whole(zoomed.span.value[0])} to {whole(zoomed.span.value[1])}.
          <button type="button" onClick={() => zoomed.set(undefined)}>
            Show all
          </button>
        </p>
      )}
      <div class="charts">
        {[...CHARTS, composition].map(chart => (
          <Chart key={`${chart.title} ${isDark()}`} run={run} zoom={zoomed} {...chart} />
        ))}
      </div>
    </section>
  )
}

const HEIGHT = 150

type ChartProps = { run: RunState; zoom: Zoom; title: string; lines: readonly Line[] }

function Chart({ run, zoom, title, lines }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const asTable = useSignal(false)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    let plot: uPlot | undefined
    let isGone = false
    const stops: (() => void)[] = []
    void import('uplot').then(({ default: Plot }) => {
      if (isGone) return
      plot = new Plot(optionsOf(element, lines, run, zoom), dataOf(zoom.points.peek(), lines), element)
      stops.push(...linked(plot, run, zoom, lines), resized(plot, element))
    })
    return () => {
      isGone = true
      for (const stop of stops) stop()
      plot?.destroy()
    }
  }, [run, zoom])
  return (
    <figure class="panel chart">
      <figcaption class="row spread">
        <h3>{title}</h3>
        <button
          type="button"
          class="plain small"
          aria-expanded={asTable.value}
          onClick={() => {
            asTable.value = !asTable.value
          }}
        >
          as table
        </button>
      </figcaption>
      <div ref={place} hidden={asTable.value} />
      {asTable.value && <ChartTable title={title} points={zoom.points.value} lines={lines} />}
    </figure>
  )
}

/** Data and crosshair follow the run. */
function linked(plot: uPlot, run: RunState, zoom: Zoom, lines: readonly Line[]): (() => void)[] {
  return [
    effect(() => plot.setData(dataOf(zoom.points.value, lines))),
    effect(() => {
      void zoom.points.value
      const tick = run.crosshair.value ?? run.shown.value
      plot.setCursor({ left: plot.valToPos(tick, 'x'), top: 10 }, false)
    }),
  ]
}

function resized(plot: uPlot, element: HTMLElement): () => void {
  const observer = new ResizeObserver(() => {
    if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height: HEIGHT })
  })
  observer.observe(element)
  return () => observer.disconnect()
}

const dataOf = (points: readonly SeriesPoint[], lines: readonly Line[]): uPlot.AlignedData => [
  points.map(({ tick }) => tick),
  ...lines.map(line => points.map(point => line.of(point))),
]

function optionsOf(element: HTMLElement, lines: readonly Line[], run: RunState, zoom: Zoom): uPlot.Options {
  const axis = {
    stroke: colourOf('muted'),
    grid: { stroke: colourOf('line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  }
  const values = (_: unknown, splits: number[]): string[] => splits.map(value => count(value))
  return {
    width: element.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false }, y: { range: (_, _low, high) => [0, Math.max(1, high ?? 1)] } },
    axes: [
      { ...axis, values },
      { ...axis, size: 48, values },
    ],
    legend: { live: true },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 }, y: false },
    series: [
      { label: 'tick', value: (_, value) => (value === null ? '–' : whole(value)) },
      ...lines.map(({ label, colour }) => ({ label, stroke: colour(), width: 1.5, value: shownValue })),
    ],
    hooks: { ready: [plot => pointed(plot, run.crosshair, tick => run.goTo(tick))], setSelect: [chosen(zoom)] },
  }
}

const shownValue = (_: unknown, value: number | null): string => (value === null ? '–' : count(value))

/** A drag over some pixels zooms all charts to it. */
const chosen = (zoom: Zoom) => (plot: uPlot) => {
  const { left, width } = plot.select
  if (width < 5) return
  zoom.set([plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')])
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
}

/** What the pointer over one chart does to all of them. */
function pointed(plot: uPlot, crosshair: Signal<number | undefined>, go: (tick: number) => void): void {
  let from = 0
  plot.over.addEventListener('pointerdown', event => {
    from = event.offsetX
  })
  plot.over.addEventListener('pointermove', event => {
    crosshair.value = Math.round(plot.posToVal(event.offsetX, 'x'))
  })
  plot.over.addEventListener('pointerleave', () => {
    crosshair.value = undefined
  })
  plot.over.addEventListener('click', event => {
    if (Math.abs(event.offsetX - from) < 5) go(plot.posToVal(event.offsetX, 'x'))
  })
}

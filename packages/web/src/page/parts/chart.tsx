import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { theme } from '../preferences.ts'
import { colourOf } from './colours.ts'

type Line = { readonly label: string; readonly colour: string; readonly values: readonly (number | null)[] }

const HEIGHT = 160

/** A chart over time. null is a gap: nothing is drawn where values are unknown. */
export function Chart({ title, times, lines }: { title: string; times: readonly number[]; lines: readonly Line[] }) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const data = [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData
  const latest = useRef(data)
  latest.current = data
  useEffect(() => {
    const element = place.current
    if (element === null) return
    let isGone = false
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    void import('uplot').then(({ default: Plot }) => {
      if (!isGone) plot.current = new Plot(optionsOf(element, lines), latest.current, element)
    })
    return () => {
      isGone = true
      observer.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [theme.value])
  useEffect(() => plot.current?.setData(data), [times.at(-1), lines])
  return (
    <figure class="panel chart">
      <figcaption>
        <h3>{title}</h3>
      </figcaption>
      <div ref={place} />
    </figure>
  )
}

function optionsOf(element: HTMLElement, lines: readonly Line[]): uPlot.Options {
  const axis = {
    stroke: colourOf('muted'),
    grid: { stroke: colourOf('line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    axes: [axis, { ...axis, size: 52 }],
    scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, high ?? 1)] } },
    legend: { live: true },
    cursor: { points: { size: 6 } },
    series: [
      { label: 'time' },
      ...lines.map(({ label, colour }) => ({ label, stroke: colour, width: 1.5, spanGaps: false })),
    ],
  }
}

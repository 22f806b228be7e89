import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { clock } from '../format.ts'
import { isDark, theme } from '../preferences.ts'
import { colourOf } from './colours.ts'
import { zone } from './zone.ts'

/** `colour`: a colour of the theme, which belongs to the name of the line. */
/** Where only whole numbers are shown, half of one has no label: there were two of 1 above another. */
const labelOf =
  (text: (value: number) => string) =>
  (value: number): string =>
    !Number.isInteger(value) && text(value) === text(Math.ceil(value)) ? '' : text(value)

type Line = { readonly label: string; readonly colour: string; readonly values: readonly (number | null)[] }

type Props = {
  readonly title: string
  /** Seconds since 1970. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  /** A value as the legend, the axis and the table write it. */
  readonly text: (value: number) => string
  /** Charts with the same name share their crosshair. */
  readonly sync?: string
}

const HEIGHT = 150
/** Number of rows in the table behind the picture, the newest. */
const ROWS = 60

/** A chart over time. null is a gap: nothing is drawn between what is not known. */
export function Chart({ title, times, lines, text, sync }: Props) {
  const id = useId()
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const pointed = useSignal<number | null>(null)
  const isTable = useSignal(false)
  const scheme = isDark()
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
      if (isGone) return
      const options = optionsOf(element, lines, text, sync, index => {
        pointed.value = index
      })
      plot.current = new Plot(options, latest.current, element)
    })
    return () => {
      isGone = true
      observer.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [theme.value, scheme, isTable.value])
  useEffect(() => plot.current?.setData(data), [times.at(-1), times.length, lines])
  const index = pointed.value ?? lastKnown(lines)
  return (
    <figure class="panel chart" aria-labelledby={id}>
      <figcaption class="row spread">
        <h3 id={id}>{title}</h3>
        <span class="row legend">
          {pointed.value !== null && <span class="muted">{timeOf(times[pointed.value])}</span>}
          {lines.map(({ label, colour, values }) => (
            <span key={label} class="legend-item">
              <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
                <path d="M0 6H12" stroke={`var(--${colour})`} stroke-width="3" />
              </svg>
              {label} <strong>{written(values[index] ?? null, text)}</strong>
            </span>
          ))}
          <button
            type="button"
            class="plain small"
            aria-pressed={isTable.value}
            onClick={() => {
              isTable.value = !isTable.value
            }}
          >
            {isTable.value ? 'as picture' : 'as table'}
          </button>
        </span>
      </figcaption>
      {isTable.value ? <AsTable times={times} lines={lines} text={text} label={title} /> : <div ref={place} />}
    </figure>
  )
}

function AsTable({ times, lines, text, label }: Pick<Props, 'times' | 'lines' | 'text'> & { label: string }) {
  const first = Math.max(0, times.length - ROWS)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by the keyboard (WCAG 2.1.1)
    <section class="chart-table" aria-label={`${label}, as table`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {lines.map(line => (
              <th key={line.label} scope="col" class="number">
                {line.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.slice(first).map((time, index) => (
            <tr key={time}>
              <td>{timeOf(time)}</td>
              {lines.map(line => (
                <td key={line.label} class="number">
                  {written(line.values[first + index] ?? null, text)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Seconds between two labels. uPlot's own go from one minute to five, which left a narrow chart with one label or none. */
const TIME_STEPS = [1, 5, 10, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200]

const timeOf = (seconds: number | undefined): string =>
  seconds === undefined ? '' : clock(new Date(seconds * 1000), zone())

const written = (value: number | null, text: (value: number) => string): string => (value === null ? '–' : text(value))

/** The newest point with a known value. */
function lastKnown(lines: readonly Line[]): number {
  const [first] = lines
  if (first === undefined) return 0
  return first.values.findLastIndex((_, index) => lines.some(({ values }) => (values[index] ?? null) !== null))
}

function optionsOf(
  element: HTMLElement,
  lines: readonly Line[],
  text: (value: number) => string,
  sync: string | undefined,
  pointed: (index: number | null) => void,
): uPlot.Options {
  const axis = {
    stroke: colourOf('muted'),
    grid: { stroke: colourOf('line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [10, 12, 0, 0],
    axes: [
      {
        ...axis,
        space: 80,
        size: 28,
        incrs: TIME_STEPS,
        values: (_, splits, _axis, _space, step) => splits.map(each => timeOf(each).slice(0, step < 60 ? 8 : 5)),
      },
      { ...axis, size: 56, space: 36, values: (_, splits) => splits.map(labelOf(text)) },
    ],
    scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, (high ?? 1) * 1.08)] } },
    legend: { show: false },
    cursor: { points: { size: 6 }, ...(sync !== undefined && { sync: { key: sync } }) },
    hooks: { setCursor: [plot => pointed(plot.cursor.idx ?? null)] },
    series: [
      {},
      ...lines.map(({ label, colour }, index) => {
        const stroke = colourOf(colour)
        const fill = index === lines.length - 1 ? { fill: `color-mix(in srgb, ${stroke} 14%, transparent)` } : {}
        return { label, stroke, width: 1.75, spanGaps: false, ...fill }
      }),
    ],
  }
}

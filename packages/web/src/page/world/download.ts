import { tell } from '../notices.ts'
import type { SeriesPoint } from './run-shapes.ts'

/** Hands a file to the browser. An address of the page's own memory is let go once the browser has it. */
function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.target = '_blank'
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
  tell(`Saved ${name}.`)
}

/** The view as it is seen. */
export function saveImage(canvas: HTMLCanvasElement, name: string): void {
  canvas.toBlob(blob => {
    if (blob !== null) save(blob, `${name}.png`)
  })
}

export function saveSeries(points: readonly SeriesPoint[], types: readonly string[], name: string): void {
  save(new Blob([seriesCsv(points, types)], { type: 'text/csv' }), `${name}.csv`)
}

/** RFC 4180; names of molecules come from elsewhere and may hold anything. */
export function seriesCsv(points: readonly SeriesPoint[], types: readonly string[]): string {
  const head = ['tick', 'alive', 'births', 'deaths', 'meanEnergy', ...types.slice(1).map(name => `cells ${name}`)]
  const rows = points.map(({ tick, alive, births, deaths, meanEnergy, cells }) => [
    tick,
    alive,
    births,
    deaths,
    meanEnergy,
    ...types.slice(1).map((_, index) => cells[index + 1] ?? 0),
  ])
  return [head, ...rows].map(row => row.map(field).join(',')).join('\r\n')
}

const field = (value: string | number): string => {
  const text = String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

import { tell } from '../notices.ts'
import { seriesCsv } from './csv.ts'
import type { SeriesPoint } from './run-shapes.ts'

/** Passes a file to the browser. Its object URL is released once the browser has it. */
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

/** The view as it is shown. */
export function saveImage(canvas: HTMLCanvasElement, name: string): void {
  canvas.toBlob(blob => {
    if (blob !== null) save(blob, `${name}.png`)
  })
}

export function saveSeries(points: readonly SeriesPoint[], types: readonly string[], name: string): void {
  save(new Blob([seriesCsv(points, types)], { type: 'text/csv' }), `${name}.csv`)
}

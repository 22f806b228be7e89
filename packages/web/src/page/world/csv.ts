import type { SeriesPoint } from './run-shapes.ts'

/** RFC 4180; names of molecules come from elsewhere and may contain anything. */
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

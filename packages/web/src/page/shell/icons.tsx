import type { JSX } from 'preact'

/** Icons of the bar, drawn with strokes of the text's colour. */
const drawn = (d: string): JSX.Element => (
  <svg
    viewBox="0 0 20 20"
    width="20"
    height="20"
    fill="none"
    stroke="currentColor"
    stroke-width="1.6"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d={d} />
  </svg>
)

export const ICONS = {
  brand: drawn('M2 6q4-3.4 8 0t8 0M2 11q4-3.4 8 0t8 0M2 16q4-3.4 8 0t8 0'),
  overview: drawn('M3 10.5 10 4l7 6.5M5 9.5V16h10V9.5'),
  topics: drawn('M3 5h14M3 10h14M3 15h9'),
  letters: drawn('M3 5h14v10H3zM3 5l7 6 7-6'),
  services: drawn('M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.01M7 13.5h.01'),
  worlds: drawn('M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14M3.5 8h13M3.5 12h13M10 3q-5 7 0 14q5-7 0-14'),
  search: drawn('M9 3.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M13 13l4 4'),
} as const

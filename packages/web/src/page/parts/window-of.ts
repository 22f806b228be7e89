/** Rows drawn above and below the visible ones, so that scrolling and tabbing find something there. */
const SPARE = 12

export type Window = { readonly first: number; readonly count: number }

/**
 * Which rows of a long list are visible. `top` is how far the list's first row is above the top of the window; negative
 * if it is below.
 */
export function windowOf(rows: number, rowHeight: number, top: number, height: number): Window {
  const first = Math.max(0, Math.min(rows, Math.floor(top / rowHeight)) - SPARE)
  const last = Math.min(rows, Math.ceil((top + height) / rowHeight) + SPARE)
  return { first, count: Math.max(0, last - first) }
}

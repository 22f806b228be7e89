import { copy } from '../copy.ts'
import { addCommands } from '../keys.ts'

const ROWS =
  'main .table tbody tr, main .lane, main .topic-flow li, main .attention li, main .flow-node, main [data-row]'

/** Keys of every list: j and k move from row to row, Enter opens, x selects. */
export const addListKeys = (): (() => void) =>
  addCommands('Lists', {
    j: ['Next row', () => step(1)],
    k: ['Row before', () => step(-1)],
    x: [
      'Select the row',
      () => rowOf(document.activeElement)?.querySelector<HTMLInputElement>('[type=checkbox]')?.click(),
    ],
    '.': ['Actions of this screen', () => focusFirst('main .actions button, main .menu summary, main .row button')],
    y: ['Copy a link to this view', () => void copy(location.href, 'the link')],
  })

const rowOf = (element: Element | null): Element | null => element?.closest(ROWS) ?? null

/** The link or button of a row, which gets the focus; the row itself if it has neither. */
function step(by: 1 | -1): void {
  const rows = [...document.querySelectorAll(ROWS)].filter(row => row.checkVisibility() && targetOf(row) !== null)
  const current = rows.indexOf(rowOf(document.activeElement) ?? document.body)
  const next = rows[current < 0 ? (by === 1 ? 0 : rows.length - 1) : current + by]
  if (next === undefined) return
  targetOf(next)?.focus()
  next.scrollIntoView({ block: 'nearest' })
}

const targetOf = (row: Element): HTMLElement | null =>
  row instanceof HTMLAnchorElement ? row : row.querySelector<HTMLElement>('a, button:not(:disabled)')

const focusFirst = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus()

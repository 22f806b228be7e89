import type { Suspects } from 'tidemark/store'
import type { Draft } from './change.ts'
import { type GroupDocument, KINDS, kindOf, type Retry, type RetryKind } from './document.ts'

export type Chosen = { readonly rows: readonly Retry[]; readonly suspects: Suspects; readonly waiting: Suspects }

/** Pages that one claim opens: an early due time in many pages must not load them all. */
const MOST_OPENED = 3

/**
 * The due retries that a claim takes: one suspect on its last attempt, if the claimer holds nothing else; otherwise
 * messages that failed on their own, together; otherwise one piece of an expired lease. They stay in the document.
 */
export function chooseRetries(
  draft: Draft,
  {
    limit,
    suspects,
    maxAttempts,
  }: { readonly limit: number; readonly suspects: Suspects; readonly maxAttempts: number },
): Chosen {
  const { document, now } = draft
  if (!KINDS.some(kind => isDue(document, kind, now))) return { rows: [], suspects: 'none', waiting: 'none' }
  if (suspects !== 'none') open(draft, 'piece', 1)
  const [piece] = dueOf(document, 'piece', now)
  // Its piece was formed when it had more attempts left.
  const isLast = piece !== undefined && piece.attempts + 1 >= maxAttempts
  if (suspects === 'alone') open(draft, 'alone', 1)
  const alone = isLast ? [piece] : dueOf(document, 'alone', now).slice(0, 1)
  if (alone.length > 0 && suspects === 'alone') return { rows: alone, suspects: 'alone', waiting: 'none' }

  const mayShare = isDue(document, 'piece', now) && !isLast
  const hasAlone = isLast || isDue(document, 'alone', now)
  const waiting = hasAlone ? 'alone' : mayShare && suspects === 'none' ? 'shared' : 'none'
  open(draft, 'failed', limit)
  const failed = dueOf(document, 'failed', now).slice(0, limit)
  if (failed.length > 0 || !mayShare || suspects === 'none' || piece === undefined) {
    return { rows: failed, suspects: 'none', waiting }
  }
  const rows = dueOf(document, 'piece', now).filter(each => each.piece === piece.piece)
  return { rows: rows.toSorted((a, b) => a.id - b.id).slice(0, limit), suspects: 'shared', waiting }
}

export function takeOut({ document }: Draft, rows: readonly Retry[]): void {
  const taken = new Set(rows.map(({ id }) => id))
  document.retries = document.retries.filter(({ id }) => !taken.has(id))
}

/** Earliest due time of what a claim of this kind may take, or null. */
export function nextDue(document: GroupDocument, kinds: readonly RetryKind[]): number | null {
  const inline = document.retries.filter(each => kinds.includes(kindOf(each))).map(({ due }) => due)
  const apart = document.pages.flatMap(({ due }) => kinds.flatMap(kind => due[kind] ?? []))
  const all = [...inline, ...apart]
  return all.length === 0 ? null : Math.min(...all)
}

const isDue = (document: GroupDocument, kind: RetryKind, now: number): boolean =>
  (nextDue(document, [kind]) ?? Number.POSITIVE_INFINITY) <= now

const dueOf = ({ retries }: GroupDocument, kind: RetryKind, now: number): Retry[] =>
  retries.filter(each => kindOf(each) === kind && each.due <= now).toSorted((a, b) => a.due - b.due || a.id - b.id)

/** Brings due retries of a kind into the document: those that come first, and as many as wanted. */
function open(draft: Draft, kind: RetryKind, wanted: number): void {
  const { document, now } = draft
  for (let opened = 0; opened < MOST_OPENED && draft.hasRoomForPages; opened++) {
    const inline = dueOf(document, kind, now)
    const [page] = document.pages
      .filter(({ due }) => (due[kind] ?? Number.POSITIVE_INFINITY) <= now)
      .toSorted((a, b) => (a.due[kind] ?? 0) - (b.due[kind] ?? 0) || a.low - b.low)
    if (page === undefined) return
    const [first] = inline
    const due = page.due[kind] ?? 0
    const isEarlier = first === undefined || due < first.due || (due === first.due && page.low < first.id)
    if (!isEarlier && inline.length >= wanted) return
    const retries = draft.page(page.page)
    document.pages = document.pages.filter(each => each.page !== page.page)
    document.retries.push(...retries)
    draft.dropPage(page.page)
  }
}

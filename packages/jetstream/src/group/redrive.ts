import type { Draft } from './change.ts'
import { tombstone } from './change.ts'
import { liveLeases, type Retry } from './document.ts'
import { heldBy } from './expiry.ts'

/** A dead letter, and where it is stored. */
type StoredLetter = {
  readonly subject: string
  readonly seq: number
  readonly id: number
  readonly version: number
  readonly history: Retry['history']
}
export type RedriveOp = { readonly kind: 'redrive'; readonly letters: readonly StoredLetter[] }
export type DiscardOp = { readonly kind: 'discard'; readonly letters: readonly Pick<StoredLetter, 'subject' | 'seq'>[] }

/**
 * Dead letters become retries, unless another process was faster. The topic goes with them, so that clean-up can't remove
 * their messages meanwhile.
 */
export function redrive(draft: Draft, { letters }: RedriveOp): { readonly redriven: number } {
  const { document, now } = draft
  const { gone } = draft.topic
  const kept = draft.facts.areThere(letters).filter(({ id }) => id >= gone)
  if (kept.length === 0) return { redriven: 0 }
  draft.changeTopic({ ...draft.topic })
  const held = document.wasReset ? idsInDelivery(draft, kept) : new Set<number>()
  const queued = kept.filter(({ id }) => {
    // After a reset a message may be in delivery already, or have two letters; it is not queued twice.
    const isNew = !held.has(id) && id <= document.cursor
    held.add(id)
    return isNew
  })
  draft.addRetries(
    queued.map(({ id, version, history }) => ({
      id,
      attempts: 0,
      version,
      due: now,
      suspect: false,
      piece: null,
      history,
    })),
  )
  removeLetters(draft, kept)
  return { redriven: kept.length }
}

export function discard(draft: Draft, { letters }: DiscardOp): { readonly discarded: number } {
  const kept = draft.facts.areThere(letters)
  removeLetters(draft, kept)
  return { discarded: kept.length }
}

function removeLetters(draft: Draft, letters: DiscardOp['letters']): void {
  for (const { subject, seq } of letters) draft.write(tombstone(subject, seq))
  draft.document.letters = Math.max(0, draft.document.letters - letters.length)
}

/** Of these messages, those that wait for redelivery or are held by a lease. */
function idsInDelivery(draft: Draft, wanted: readonly Pick<StoredLetter, 'id'>[]): Set<number> {
  const { document } = draft
  const pages = document.pages.filter(({ low, high }) => wanted.some(({ id }) => id >= low && id <= high))
  draft.loadPages(pages)
  const retries = [...document.retries, ...pages.flatMap(({ page }) => draft.page(page))]
  const held = liveLeases(document).flatMap(({ lease }) => heldBy(draft, lease))
  return new Set([...retries, ...held].map(({ id }) => id))
}

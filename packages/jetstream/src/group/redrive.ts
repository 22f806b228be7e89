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

/** Dead letters become retries. The topic goes with them, so that clean-up can't remove their messages meanwhile. */
export function redrive(draft: Draft, { letters }: RedriveOp): { readonly redriven: number } {
  const { document, now } = draft
  const { gone } = draft.topic
  const kept = letters.filter(({ id }) => id >= gone)
  if (kept.length === 0) return { redriven: 0 }
  draft.changeTopic({ ...draft.topic })
  const held = idsInDelivery(draft)
  draft.addRetries(
    kept
      // After a reset a message may be in delivery already; it is not queued twice.
      .filter(({ id }) => !held.has(id) && id <= document.cursor)
      .map(({ id, version, history }) => ({
        id,
        attempts: 0,
        version,
        due: now,
        suspect: false,
        piece: null,
        history,
      })),
  )
  for (const { subject, seq } of kept) draft.write(tombstone(subject, seq))
  document.letters = Math.max(0, document.letters - kept.length)
  return { redriven: kept.length }
}

export function discard(draft: Draft, { letters }: DiscardOp): { readonly discarded: number } {
  for (const { subject, seq } of letters) draft.write(tombstone(subject, seq))
  draft.document.letters = Math.max(0, draft.document.letters - letters.length)
  return { discarded: letters.length }
}

function idsInDelivery(draft: Draft): Set<number> {
  const { document } = draft
  const retries = [...document.retries, ...document.pages.flatMap(({ page }) => draft.page(page))]
  const held = liveLeases(document).flatMap(({ lease }) => heldBy(draft, lease))
  return new Set([...retries, ...held].map(({ id }) => id))
}

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RawMessage } from '../payload/raw-message.ts'
import { UNBOUNDED } from './byte-bounds.ts'
import type { BrowsePage, BrowseQuery } from './log.ts'

/** Maximum number of messages read for one page of browsing, however few match. */
const MOST_BROWSED = 100_000
/** Messages read per step, so that neither the event loop nor the server is blocked for long. */
export const BROWSE_STEP = 10_000

/** From the lowest id to the highest. */
export type IdRange = { readonly low: number; readonly high: number }

export type BrowseStep = IdRange & {
  /** How many messages and bytes fit. */
  readonly room: number
  readonly maxBytes: number
  /** Number of messages found in earlier steps: the first message of a page always fits. */
  readonly taken: number
}

export type StepFound = {
  readonly messages: readonly RawMessage[]
  readonly bytes: number
  /** The next message did not fit. */
  readonly isCut: boolean
}

/** Reads a page in ranges of ids; `read` checks the other conditions of the query message by message. */
export async function browseBySteps(
  { newestFirst, limit, maxBytes = UNBOUNDED, signal }: BrowseQuery,
  range: IdRange,
  read: (step: BrowseStep) => Promise<StepFound>,
): Promise<BrowsePage> {
  const messages: RawMessage[] = []
  let bytes = 0
  let left = range
  for (let count = 0; count < MOST_BROWSED && left.high >= left.low && messages.length < limit; count += BROWSE_STEP) {
    if (count > 0) await nextTurn()
    if (signal?.aborted) break
    const step = newestFirst
      ? { low: Math.max(left.low, left.high - BROWSE_STEP + 1), high: left.high }
      : { low: left.low, high: Math.min(left.high, left.low + BROWSE_STEP - 1) }
    const room = limit - messages.length
    const found = await read({ ...step, room, maxBytes: maxBytes - bytes, taken: messages.length })
    messages.push(...found.messages)
    bytes += found.bytes
    const last = found.messages.length === room || found.isCut ? found.messages.at(-1)?.id : undefined
    // Not even the first message of this step fitted: the next page begins with it.
    if (found.isCut && last === undefined) break
    left = newestFirst
      ? { low: left.low, high: (last ?? step.low) - 1 }
      : { low: (last ?? step.high) + 1, high: left.high }
    if (found.isCut) break
  }
  const isDone = left.high < left.low
  const examined = newestFirst ? { first: left.high + 1, last: range.high } : { first: range.low, last: left.low - 1 }
  return {
    messages,
    next: isDone ? null : newestFirst ? left.high + 1 : left.low - 1,
    examined: examined.last < examined.first ? null : examined,
  }
}

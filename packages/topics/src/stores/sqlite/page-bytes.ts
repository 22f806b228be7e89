import { rowOf, rowsOf } from './rows.ts'
import { logTable } from './topic-rows.ts'
import type { Transaction } from './transaction.ts'

/** Maximum payload bytes of one claim: a page of messages of many megabytes each could exhaust the memory. */
const MOST_BYTES = 64 * 1024 ** 2

/** Payloads up to this size, in characters or bytes, are not measured: a page of a thousand has room for them. */
export const LARGE_BYTES = 16 * 1024

/** The last id up to which the payloads starting at `first` fit into a page; the first always fits. */
export function lastFitting(
  tx: Transaction,
  topicId: number,
  { first, last, maxBytes = MOST_BYTES }: { first: number; last: number; maxBytes?: number | undefined },
): number {
  const measured = rowOf<{ last: number | null }>(
    tx.prepare(`
      select max(id) as last
      from (
        select id, sum(octet_length(payload)) over (order by id) as total
        from ${logTable(topicId)}
        where id between ?1 and ?2
      )
      where total <= ?3`),
    first,
    last,
    Math.min(maxBytes, MOST_BYTES),
  )
  return measured?.last ?? first
}

/** How many of the messages fit, counted from the first. Missing messages take no room. */
export function countFitting(tx: Transaction, topicId: number, ids: readonly number[], maxBytes = MOST_BYTES): number {
  const sizes = new Map(
    rowsOf<{ id: number; size: number }>(
      tx.prepare(`
        select l.id, octet_length(l.payload) as size
        from json_each(?) j
        join ${logTable(topicId)} l on l.id = j.value`),
      JSON.stringify(ids),
    ).map(({ id, size }) => [id, size]),
  )
  let total = 0
  const tooMuch = ids.findIndex(id => {
    total += sizes.get(id) ?? 0
    return total > Math.min(maxBytes, MOST_BYTES)
  })
  return tooMuch === -1 ? ids.length : Math.max(1, tooMuch)
}

import type { Settlement, SettleResult } from '../leases.ts'
import type { Statements } from './transaction.ts'

const SETTLE = 'select tidemark_fn.settle($1, $2) as results'
const EXTEND = `
  update tidemark.lease
  -- null: it never runs out
  set deadline = clock_timestamp() + nullif($2::float8, 0) * interval '1 millisecond'
  where token = $1 and done_at is null and expired_at is null
  returning token`

const DONE: SettleResult = { stale: [], deadLettered: [], finished: true }

type StoredResult = SettleResult & { readonly topic?: number | null }

/** `wake` is called with topics in which released messages are due at once. */
export async function settle(
  statements: Statements,
  settlements: readonly Settlement[],
  wake: (topicId: number) => void,
): Promise<SettleResult[]> {
  if (settlements.length === 0) return []
  // A lease that is named twice is settled twice, one after the other.
  const repeated = firstRepeated(settlements)
  if (repeated > 0) {
    const first = await settle(statements, settlements.slice(0, repeated), wake)
    return [...first, ...(await settle(statements, settlements.slice(repeated), wake))]
  }
  const done = settlements.filter(isWhole).map(({ token }) => token)
  const values = [done, JSON.stringify(settlements.map(toJson))]
  const [row] = await statements.query(statements.sql(SETTLE), values, 'tidemark_settle')
  const results = JSON.parse(row?.results ?? '{}') as Record<string, StoredResult>
  return settlements.map(({ token }) => {
    const result = results[token]
    if (!result) return DONE
    if (typeof result.topic === 'number') wake(result.topic)
    const { stale, deadLettered, finished, unknown = false } = result
    return { stale, deadLettered, finished, ...(unknown && { unknown }) }
  })
}

export async function extend(statements: Statements, token: string, ms: number): Promise<boolean> {
  const rows = await statements.query(statements.sql(EXTEND), [token, ms], 'tidemark_extend')
  return rows.length > 0
}

function firstRepeated(settlements: readonly Settlement[]): number {
  const seen = new Set<string>()
  return settlements.findIndex(({ token }) => {
    const isRepeated = seen.has(token)
    seen.add(token)
    return isRepeated
  })
}

const isWhole = ({ acks, nacks, releases }: Settlement): boolean =>
  acks === 'all' && nacks.length === 0 && releases.length === 0

function toJson({ token, size, maxAttempts, acks, nacks, releases }: Settlement): object {
  return {
    token,
    size,
    maxAttempts,
    acks: acks === 'all' ? null : acks,
    nacks: nacks.map(({ slot, delayMs, error }) => ({ slot, delayMs, error })),
    releases,
  }
}

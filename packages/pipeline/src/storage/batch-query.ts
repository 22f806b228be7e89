import { ConfigError } from 'tidemark'
import { wholeNumber } from '../options.ts'
import { isRunId } from '../run-id.ts'
import { parseBatchKey, parseBatchName } from './keys.ts'
import type { BatchQuery, BatchRef, Page } from './storage.ts'

const DEFAULT_LIMIT = 1_000
const MAX_LIMIT = 100_000

/** A checked query. */
export type Wanted = {
  readonly runId: string
  readonly prefix: string
  readonly from: number
  readonly to: number
  readonly after: BatchRef | undefined
  readonly limit: number
}

export function understand(query: BatchQuery): Wanted {
  const { prefix, fromTick = 0, toTick = Number.MAX_SAFE_INTEGER, limit = DEFAULT_LIMIT } = query
  const runId = String(prefix).split('/', 1)[0]
  if (!isRunId(runId) || !prefix.startsWith(`${runId}/`))
    throw new ConfigError('prefix', prefix, "a run id and '/', and more")
  wholeNumber('fromTick', fromTick, { min: 0 })
  wholeNumber('toTick', toTick, { min: 0 })
  wholeNumber('limit', limit, { min: 1, max: MAX_LIMIT })
  const after = query.after === undefined ? undefined : parseBatchKey(query.after)
  if (after && after.runId !== runId) throw new ConfigError('after', query.after, `a key of run ${runId}`)
  return { runId, prefix, from: fromTick, to: toTick, after, limit }
}

/** Takes batches until the page is full. */
export async function pageOf(batches: AsyncIterable<BatchRef>, limit: number): Promise<Page<BatchRef>> {
  const items: BatchRef[] = []
  for await (const batch of batches) {
    if (items.length === limit) return { items, next: items.at(-1)?.key ?? null }
    items.push(batch)
  }
  return { items, next: null }
}

/** The batch of a key, if it is one that the query asks for. */
export function wantedBatch(key: string, wanted: Wanted): BatchRef | undefined {
  const range = parseBatchName(key.slice(key.lastIndexOf('/') + 1))
  if (range === undefined || !key.startsWith(wanted.prefix) || !isInPlace(key)) return undefined
  const batch = { key, runId: wanted.runId, ...range }
  if (batch.tickEnd < wanted.from || batch.tickStart > wanted.to) return undefined
  return wanted.after === undefined || inOrder(batch, wanted.after) > 0 ? batch : undefined
}

/** A batch in the wrong folder can't be read by its key, so it is not listed either. */
export function isInPlace(key: string): boolean {
  try {
    return parseBatchKey(key).key === key
  } catch {
    return false
  }
}

export function inOrder(a: BatchRef, b: BatchRef): number {
  return a.tickStart - b.tickStart || a.tickEnd - b.tickEnd || Number(a.key > b.key) - Number(a.key < b.key)
}

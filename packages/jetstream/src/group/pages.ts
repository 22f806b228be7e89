/**
 * Retries that are stored apart from the document, up to a thousand in a message. Retries that share their state are one
 * run: an expired page of the log is stored as a few ranges of ids, whatever its size.
 */
import { Buffer } from 'node:buffer'
import { kindOf, type PageSummary, type Retry, type RetryKind } from './document.ts'

/** Retries that the document holds itself, and their bytes; more are stored apart. */
const MOST_INLINE = 64
const INLINE_BYTES = 48 * 1024
/** Retries of a page. */
const PAGE = 1_000
const PAGE_BYTES = 512 * 1024
/** Pages of less than half that are small: when there are more of them, some are merged into one. */
const MOST_SMALL = 64
const MERGED = 16

/** A constant distance between ids: first, count, stride. */
type Range = readonly [first: number, count: number, stride: number]
type Run = readonly [
  state: readonly [attempts: number, version: number, due: number, suspect: 0 | 1, history: number],
  ids: readonly Range[],
  pieces: readonly (readonly [piece: string | null, count: number])[],
]
type Encoded = { readonly histories: readonly Retry['history'][]; readonly runs: readonly Run[] }

export function encodePage(retries: readonly Retry[]): Buffer {
  const histories: Retry['history'][] = []
  const known = new Map<string, number>()
  const runs: [Run[0], Range[], [string | null, number][]][] = []
  let previous = ''
  for (const { id, attempts, version, due, suspect, piece, history } of retries) {
    const text = JSON.stringify(history)
    const place = known.get(text) ?? histories.push(history) - 1
    known.set(text, place)
    const state = [attempts, version, due, suspect ? 1 : 0, place] as const
    if (previous !== state.join()) runs.push([state, [], []])
    previous = state.join()
    const [, ids, pieces] = runs.at(-1) ?? [state, [], []]
    addId(ids, id)
    const last = pieces.at(-1)
    if (last?.[0] === piece) last[1]++
    else pieces.push([piece, 1])
  }
  return Buffer.from(JSON.stringify({ histories, runs } satisfies Encoded))
}

function addId(ranges: Range[], id: number): void {
  const last = ranges.at(-1)
  if (last === undefined) return void ranges.push([id, 1, 0])
  const [first, count, stride] = last
  const next = id - first
  if (count === 1 || next === count * stride)
    ranges[ranges.length - 1] = [first, count + 1, count === 1 ? next : stride]
  else ranges.push([id, 1, 0])
}

export function decodePage(data: Uint8Array): Retry[] {
  const { histories, runs } = JSON.parse(Buffer.from(data).toString()) as Encoded
  return runs.flatMap(([[attempts, version, due, suspect, place], ranges, pieces]) => {
    const names = pieces.flatMap(([piece, count]) => new Array<string | null>(count).fill(piece))
    const ids = ranges.flatMap(([first, count, stride]) => Array.from({ length: count }, (_, n) => first + n * stride))
    const history = histories[place] ?? []
    return ids.map((id, n) => ({
      id,
      attempts,
      version,
      due,
      suspect: suspect === 1,
      piece: names[n] ?? null,
      history,
    }))
  })
}

/** More than a page of them is never encoded twice as long: texts may have characters of several bytes. */
const bytesOf = (retries: readonly Retry[]): number =>
  retries.reduce((sum, retry) => sum + JSON.stringify(retry).length * 2, 0)

export const fitsInline = (retries: readonly Retry[]): boolean =>
  retries.length <= MOST_INLINE && bytesOf(retries) <= INLINE_BYTES

/**
 * Retries in the order of their due times: those that the document keeps, and pages of the others. A piece of an expired
 * lease stays together.
 */
export function packed(retries: readonly Retry[]): { readonly inline: Retry[]; readonly pages: Retry[][] } {
  const sorted = retries.toSorted((a, b) => a.due - b.due || a.id - b.id)
  const groups = [...Map.groupBy(sorted, ({ id, piece }) => piece ?? id).values()]
  const inline: Retry[] = []
  const pages: Retry[][] = []
  let inlineBytes = 0
  let bytes = 0
  for (const group of groups) {
    const size = bytesOf(group)
    const isInline = pages.length === 0 && inline.length + group.length <= MOST_INLINE / 4
    if (isInline && inlineBytes + size <= INLINE_BYTES / 2) {
      inline.push(...group)
      inlineBytes += size
      continue
    }
    const last = pages.at(-1)
    if (last === undefined || last.length + group.length > PAGE || bytes + size > PAGE_BYTES) {
      pages.push([...group])
      bytes = size
    } else {
      last.push(...group)
      bytes += size
    }
  }
  return { inline, pages }
}

/** How many retries one page has room for: a history may be long. */
export function countOfPage(retries: readonly Retry[]): number {
  let bytes = 0
  const tooMany = retries.findIndex(retry => {
    bytes += bytesOf([retry])
    return bytes > PAGE_BYTES
  })
  return tooMany === -1 ? retries.length : Math.max(1, tooMany)
}

/** Small pages that are better stored as one. */
export function mergeable(pages: readonly PageSummary[]): PageSummary[] {
  const small = pages.filter(({ count, bytes }) => count < PAGE / 2 && bytes < PAGE_BYTES / 4)
  return small.length <= MOST_SMALL ? [] : small.toSorted((a, b) => a.count - b.count).slice(0, MERGED)
}

export function summaryOf(page: number, retries: readonly Retry[]): PageSummary {
  const due: Partial<Record<RetryKind, number>> = {}
  let low = Number.MAX_SAFE_INTEGER
  let high = 0
  for (const retry of retries) {
    const kind = kindOf(retry)
    due[kind] = Math.min(due[kind] ?? retry.due, retry.due)
    low = Math.min(low, retry.id)
    high = Math.max(high, retry.id)
  }
  return { page, count: retries.length, bytes: encodePage(retries).length, low, high, due }
}

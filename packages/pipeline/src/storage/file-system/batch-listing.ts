import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { ConfigError } from 'tidemark'
import { wholeNumber } from '../../options.ts'
import { isRunId } from '../../run-id.ts'
import { StorageError } from '../errors.ts'
import { parseBatchKey, parseBatchName, parseLevel, TICKS_PER_L0, TICKS_PER_L1 } from '../keys.ts'
import type { BatchQuery, BatchRef, Page } from '../storage.ts'
import { isMissing } from './missing.ts'
import type { SafePaths } from './safe-paths.ts'

const DEFAULT_LIMIT = 1_000
const MAX_LIMIT = 100_000

/** Descends only into folders that can contain what is requested, and stops when the page is full. */
export async function listBatches(paths: SafePaths, query: BatchQuery): Promise<Page<BatchRef>> {
  const wanted = understand(query)
  const items: BatchRef[] = []
  for await (const batch of batchesOf(paths, wanted)) {
    if (items.length === wanted.limit) return { items, next: items.at(-1)?.key ?? null }
    items.push(batch)
  }
  return { items, next: null }
}

type Wanted = {
  readonly runId: string
  readonly prefix: string
  readonly from: number
  readonly to: number
  readonly after: BatchRef | undefined
  readonly limit: number
}

function understand(query: BatchQuery): Wanted {
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

async function* batchesOf(paths: SafePaths, wanted: Wanted): AsyncGenerator<BatchRef, void, undefined> {
  // What comes after a key begins no earlier than it; otherwise the batch in which the range begins has to be found.
  const first = wanted.after?.tickStart ?? (await startOf(paths, wanted))
  for await (const l1 of foldersOf(paths, wanted, { from: first, to: wanted.to })) {
    yield* await batchesIn(paths, l1.key, wanted)
  }
}

/** The first tick of the folder with the last batch that begins before the range; if there is none, of the range. */
async function startOf(paths: SafePaths, wanted: Wanted): Promise<number> {
  if (wanted.from === 0) return 0
  for await (const { key, firstTick } of foldersOf(paths, wanted, { from: 0, to: wanted.from }, 'last first')) {
    const names = (await entries(paths, key)).map(({ name }) => parseBatchName(name))
    if (names.some(range => range !== undefined && range.tickStart < wanted.from)) return firstTick
  }
  return wanted.from
}

type Ticks = { readonly from: number; readonly to: number }
type Order = 'first first' | 'last first'

async function* foldersOf(
  paths: SafePaths,
  { runId, prefix }: Wanted,
  ticks: Ticks,
  order: Order = 'first first',
): AsyncGenerator<Level, void, undefined> {
  const top = await levels(paths, `${runId}/raw`, prefix, ticks, 0, TICKS_PER_L0)
  for (const l0 of inTurn(top, order)) {
    yield* inTurn(await levels(paths, l0.key, prefix, ticks, l0.firstTick, TICKS_PER_L1), order)
  }
}

const inTurn = (levels: Level[], order: Order): Level[] => (order === 'first first' ? levels : levels.reverse())

type Level = { readonly key: string; readonly firstTick: number }

/** The folders of one level that can contain wanted ticks, in tick order. */
async function levels(
  paths: SafePaths,
  parent: string,
  prefix: string,
  { from, to }: Ticks,
  start: number,
  ticks: number,
): Promise<Level[]> {
  const found: Level[] = []
  for (const entry of await entries(paths, parent)) {
    const level = parseLevel(entry.name)
    if (level === undefined) continue
    const key = `${parent}/${entry.name}`
    const firstTick = start + level * ticks
    const canMatch = `${key}/`.startsWith(prefix) || prefix.startsWith(`${key}/`)
    if (canMatch && firstTick <= to && firstTick + ticks > from) found.push({ key, firstTick })
  }
  return found.sort((a, b) => a.firstTick - b.firstTick)
}

async function batchesIn(paths: SafePaths, folder: string, wanted: Wanted): Promise<BatchRef[]> {
  const found: BatchRef[] = []
  for (const entry of await entries(paths, folder)) {
    const range = parseBatchName(entry.name)
    const key = `${folder}/${entry.name}`
    if (range === undefined || !key.startsWith(wanted.prefix) || !isInPlace(key)) continue
    const batch = { key, runId: wanted.runId, ...range }
    if (batch.tickEnd < wanted.from || batch.tickStart > wanted.to) continue
    if (wanted.after === undefined || inOrder(batch, wanted.after) > 0) found.push(batch)
  }
  return found.sort(inOrder)
}

/** A batch in the wrong folder can't be read by its key, so it is not listed either. */
function isInPlace(key: string): boolean {
  try {
    return parseBatchKey(key).key === key
  } catch {
    return false
  }
}

function inOrder(a: BatchRef, b: BatchRef): number {
  return a.tickStart - b.tickStart || a.tickEnd - b.tickEnd || Number(a.key > b.key) - Number(a.key < b.key)
}

async function entries(paths: SafePaths, folder: string): Promise<Dirent[]> {
  const path = await paths.existing(folder)
  if (path === undefined) return []
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (error) {
    if (!isMissing(error)) throw new StorageError('Listing', folder, error)
    await paths.requireRoot()
    return []
  }
}

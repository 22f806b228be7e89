import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { inOrder, pageOf, understand, type Wanted, wantedBatch } from '../batch-query.ts'
import { StorageError } from '../errors.ts'
import { parseBatchName, parseLevel, TICKS_PER_L0, TICKS_PER_L1 } from '../keys.ts'
import type { BatchQuery, BatchRef, Page } from '../storage.ts'
import { isMissing } from './missing.ts'
import type { SafePaths } from './safe-paths.ts'

/** Descends only into folders that can contain what is requested, and stops when the page is full. */
export async function listBatches(paths: SafePaths, query: BatchQuery): Promise<Page<BatchRef>> {
  const wanted = understand(query)
  return await pageOf(batchesOf(paths, wanted), wanted.limit)
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
  const found = (await entries(paths, folder)).flatMap(({ name }) => wantedBatch(`${folder}/${name}`, wanted) ?? [])
  return found.sort(inOrder)
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

import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { ConfigError } from 'tidemark'
import { isRunId } from '../../run-id.ts'
import { parseBatchKey, parseBatchName, parseLevel, TICKS_PER_L0, TICKS_PER_L1 } from '../keys.ts'
import type { BatchQuery, BatchRef, Page } from '../storage.ts'
import { isMissing } from './missing.ts'
import type { SafePaths } from './safe-paths.ts'

const DEFAULT_LIMIT = 1_000
const MAX_LIMIT = 100_000

/** Goes down only into the folders that can hold what is asked for, and stops when the page is full. */
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
  requireInteger('fromTick', fromTick, 0, Number.MAX_SAFE_INTEGER)
  requireInteger('toTick', toTick, 0, Number.MAX_SAFE_INTEGER)
  requireInteger('limit', limit, 1, MAX_LIMIT)
  const after = query.after === undefined ? undefined : parseBatchKey(query.after)
  if (after && after.runId !== runId) throw new ConfigError('after', query.after, `a key of run ${runId}`)
  return { runId, prefix, from: Math.max(fromTick, after?.tickStart ?? 0), to: toTick, after, limit }
}

async function* batchesOf(paths: SafePaths, wanted: Wanted): AsyncGenerator<BatchRef, void, undefined> {
  const raw = `${wanted.runId}/raw`
  for (const l0 of await levels(paths, raw, wanted, 0, TICKS_PER_L0)) {
    for (const l1 of await levels(paths, l0.key, wanted, l0.firstTick, TICKS_PER_L1)) {
      yield* await batchesIn(paths, l1.key, wanted)
    }
  }
}

type Level = { readonly key: string; readonly firstTick: number }

/** The folders of one level that can hold wanted ticks, in the order of those. */
async function levels(
  paths: SafePaths,
  parent: string,
  wanted: Wanted,
  start: number,
  ticks: number,
): Promise<Level[]> {
  const found: Level[] = []
  for (const entry of await entries(paths, parent)) {
    const level = parseLevel(entry.name)
    if (level === undefined) continue
    const key = `${parent}/${entry.name}`
    const firstTick = start + level * ticks
    const canMatch = `${key}/`.startsWith(wanted.prefix) || wanted.prefix.startsWith(`${key}/`)
    if (canMatch && firstTick <= wanted.to && firstTick + ticks > wanted.from) found.push({ key, firstTick })
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
    if (batch.tickStart < wanted.from || batch.tickStart > wanted.to) continue
    if (wanted.after === undefined || inOrder(batch, wanted.after) > 0) found.push(batch)
  }
  return found.sort(inOrder)
}

/** A batch in another folder than its ticks belong to can't be read by its key, so it is not listed either. */
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
    if (isMissing(error)) return []
    throw error
  }
}

export function requireInteger(option: string, value: unknown, min: number, max: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return
  throw new ConfigError(option, value, `a whole number from ${min} to ${max}`)
}

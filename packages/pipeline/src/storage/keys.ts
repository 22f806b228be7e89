/**
 * {runId}/raw/{L0}/{L1}/batch_{first tick}_{last tick}.pb[.zst]   and   {runId}/raw/metadata.pb[.zst]
 *
 * L0 numbers folders of 100 000 000 ticks, L1 folders of 100 000 within: a range of ticks is found without reading the
 * rest, and no folder has more than 100 000 files.
 */
import { isRunId, requireRunId } from '../run-id.ts'
import { InvalidKeyError } from './errors.ts'
import type { BatchRef } from './storage.ts'

/** Compression of a file. */
export type Compression = 'none' | 'zstd'

export const TICKS_PER_L0 = 100_000_000
export const TICKS_PER_L1 = 100_000
const BATCH_NAME = /^batch_(\d{19})_(\d{19})\.pb(?:\.zst)?$/
const SUFFIX: { readonly [compression in Compression]: string } = { none: '.pb', zstd: '.pb.zst' }

/**
 * Storage key of a batch.
 *
 * @example
 * const key = batchKey(run, 0, 999, 'zstd')
 */
export function batchKey(runId: string, tickStart: number, tickEnd: number, compression: Compression): string {
  const folder = batchFolder(requireRunId(runId), tickStart)
  return `${folder}/batch_${digits(tickStart, 19)}_${digits(tickEnd, 19)}${SUFFIX[compression]}`
}

/**
 * Storage key of a run's metadata.
 *
 * @example
 * const key = metadataKey(run, 'zstd')
 */
export function metadataKey(runId: string, compression: Compression): string {
  return `${requireRunId(runId)}/raw/metadata${SUFFIX[compression]}`
}

/**
 * Splits the storage key of a batch. Throws an `InvalidKeyError` if it is invalid.
 *
 * @example
 * const { tickStart, tickEnd } = parseBatchKey(batchKey(run, 0, 999, 'none'))
 */
export function parseBatchKey(key: unknown): BatchRef {
  const [runId = '', , , , name = ''] = typeof key === 'string' ? key.split('/') : []
  const range = parseBatchName(name)
  if (range === undefined || !isRunId(runId))
    throw new InvalidKeyError(key, 'it should look like {run id}/raw/000/000/batch_…')
  const { tickStart, tickEnd } = range
  const expected = batchKey(runId, tickStart, tickEnd, name.endsWith('.zst') ? 'zstd' : 'none')
  if (expected !== key) throw new InvalidKeyError(key, `these ticks belong to ${expected}`)
  return { key: expected, runId, tickStart, tickEnd }
}

export function isBatchKey(key: string): boolean {
  return parseBatchName(key.slice(key.lastIndexOf('/') + 1)) !== undefined
}

/** Run of the key of a batch or of metadata. */
export function runIdOfKey(key: unknown): string {
  const runId = typeof key === 'string' ? key.slice(0, key.indexOf('/')) : ''
  if (isRunId(runId) && (key === metadataKey(runId, 'none') || key === metadataKey(runId, 'zstd'))) return runId
  return parseBatchKey(key).runId
}

/** First and last tick of a file name, or undefined if it is not a batch. */
export function parseBatchName(name: string): { readonly tickStart: number; readonly tickEnd: number } | undefined {
  const [, start, end] = BATCH_NAME.exec(name) ?? []
  const tickStart = Number(start)
  const tickEnd = Number(end)
  return Number.isSafeInteger(tickStart) && Number.isSafeInteger(tickEnd) && tickStart <= tickEnd
    ? { tickStart, tickEnd }
    : undefined
}

const levelName = (level: number): string => digits(level, 3)

/** The level of a folder's name, or undefined if it is none. */
export function parseLevel(name: string): number | undefined {
  const level = Number(name)
  return /^\d{3,}$/.test(name) && levelName(level) === name ? level : undefined
}

function batchFolder(runId: string, tick: number): string {
  const l0 = Math.floor(tick / TICKS_PER_L0)
  const l1 = Math.floor((tick % TICKS_PER_L0) / TICKS_PER_L1)
  return `${runId}/raw/${levelName(l0)}/${levelName(l1)}`
}

const digits = (value: number, length: number): string => String(value).padStart(length, '0')

import { ConfigError, type Duration } from 'tidemark'
import { parseDuration } from '../duration.ts'
import { oneOf, refuseUnknown, wholeNumber } from '../options.ts'
import { requireRunId } from '../run-id.ts'
import type { IndexDatabase, IndexEngine, IndexProbe, IndexSettings, MeasuredIndexes } from './index-database.ts'
import { postgres } from './postgres/index-database.ts'
import { sqlite } from './sqlite/index-database.ts'

export type IndexOptions = {
  /** Makes the index where there is none (default), or rejects with `IndexNotFoundError`. */
  readonly create?: boolean
  /** How long to wait for another writer of the file, or for a lock of the server. Default '30s'. */
  readonly busyTimeout?: Duration
  /** SQLite: 'full' survives a power failure (default), 'process' only the end of the process. */
  readonly durability?: 'full' | 'process'
  /** PostgreSQL: connections at most. Default 4. */
  readonly poolSize?: number
}

/** Opens the index of a run at `sqlite:<folder>` or `postgres://…`, and brings its schema up to date. */
export async function openIndex(address: string, runId: string, options: IndexOptions = {}): Promise<IndexDatabase> {
  return await engineOf(address).open(address, requireRunId(runId), settingsOf(options))
}

/** The same for those who only read: what another process writes is seen, and never held up. */
export async function openIndexForReading(
  address: string,
  runId: string,
  { busyTimeout = '30s', poolSize = 4 }: Pick<IndexOptions, 'busyTimeout' | 'poolSize'> = {},
): Promise<IndexDatabase> {
  const settings = settingsOf({ create: false, busyTimeout, poolSize })
  return await engineOf(address).open(address, requireRunId(runId), { ...settings, readOnly: true })
}

/** The runs that have an index there, oldest first. */
export async function listIndexedRuns(address: string): Promise<string[]> {
  return await engineOf(address).list(address)
}

export const probeIndexes = (address: string): IndexProbe => engineOf(address).probe(address)

export const measureIndexes = (address: string): MeasuredIndexes => engineOf(address).measure(address)

export type IndexVersions = { readonly runId: string; readonly found: number; readonly newest: number }

/** The schema versions of every run's index there, as they are. */
export async function indexVersions(address: string): Promise<IndexVersions[]> {
  const engine = engineOf(address)
  const found: IndexVersions[] = []
  for (const runId of await engine.list(address)) found.push({ runId, ...(await engine.versions(address, runId)) })
  return found
}

/** Brings every run's index there up to date, and gives the versions they had. A newer one is refused. */
export async function migrateIndexes(address: string): Promise<IndexVersions[]> {
  const versions = await indexVersions(address)
  for (const { runId } of versions) await (await openIndex(address, runId, { create: false })).close()
  return versions
}

/** Removes the index of one run; false where there was none. A SQLite file that somebody has open is refused. */
export async function dropIndex(address: string, runId: string, options: IndexOptions = {}): Promise<boolean> {
  return await engineOf(address).drop(address, requireRunId(runId), settingsOf(options))
}

/** Whether another process, or another part of this one, has a run's index open, as far as the engine knows. */
export async function isIndexInUse(address: string, runId: string): Promise<boolean> {
  return await engineOf(address).isInUse(address, requireRunId(runId))
}

function engineOf(address: string): IndexEngine {
  if (typeof address === 'string') {
    if (/^sqlite:(?!:memory:)./.test(address)) return sqlite
    if (/^postgres(ql)?:\/\//.test(address)) return postgres
  }
  // An address may hold a password, so it is not shown.
  throw new ConfigError('address', '(hidden)', "'sqlite:<folder>' or 'postgres://user:password@host:port/database'")
}

function settingsOf(options: IndexOptions): IndexSettings {
  refuseUnknown(options, ['create', 'busyTimeout', 'durability', 'poolSize'])
  const { create = true, busyTimeout = '30s', durability = 'full', poolSize = 4 } = options
  if (typeof create !== 'boolean') throw new ConfigError('create', create, 'true or false')
  return {
    create,
    readOnly: false,
    busyTimeoutMs: parseDuration('busyTimeout', busyTimeout),
    durability: oneOf('durability', durability, ['full', 'process']),
    poolSize: wholeNumber('poolSize', poolSize, { min: 1, max: 1_000 }),
  }
}

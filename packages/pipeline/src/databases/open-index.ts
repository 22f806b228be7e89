import { ConfigError, type Duration } from 'tidemark'
import { parseDuration } from '../duration.ts'
import { oneOf, refuseUnknown, wholeNumber } from '../options.ts'
import { requireRunId } from '../run-id.ts'
import type { IndexDatabase, IndexEngine, IndexProbe, IndexSettings, MeasuredIndexes } from './index-database.ts'

/** Options of opening an index. */
export type IndexOptions = {
  /** Whether a missing index is created (default true); otherwise opening rejects with `IndexNotFoundError`. */
  readonly create?: boolean
  /** Maximum wait for another writer of the file or for a lock of the server (default '30s'). */
  readonly busyTimeout?: Duration
  /** SQLite only: 'full' survives a power failure (default), 'process' only a crash of the process. */
  readonly durability?: 'full' | 'process'
  /** PostgreSQL only: maximum number of connections (default 4). */
  readonly poolSize?: number
}

/**
 * Opens the index of a run at `sqlite:<folder>` or `postgres://…`, and brings its schema up to date.
 *
 * @example
 * await using index = await openIndex('sqlite:./data/index', run)
 */
export async function openIndex(address: string, runId: string, options: IndexOptions = {}): Promise<IndexDatabase> {
  return await (await engineOf(address)).open(address, requireRunId(runId), settingsOf(options))
}

/** Opens an index for reading. Readers see what other processes write, and never block them. */
export async function openIndexForReading(
  address: string,
  runId: string,
  { busyTimeout = '30s', poolSize = 4 }: Pick<IndexOptions, 'busyTimeout' | 'poolSize'> = {},
): Promise<IndexDatabase> {
  const settings = settingsOf({ create: false, busyTimeout, poolSize })
  return await (await engineOf(address)).open(address, requireRunId(runId), { ...settings, readOnly: true })
}

/**
 * Lists the runs that have an index at an address, the oldest first.
 *
 * @example
 * const [oldest] = await listIndexedRuns('sqlite:./data/index')
 */
export async function listIndexedRuns(address: string): Promise<string[]> {
  return await (await engineOf(address)).list(address)
}

export const probeIndexes = async (address: string): Promise<IndexProbe> => (await engineOf(address)).probe(address)

export const measureIndexes = async (address: string): Promise<MeasuredIndexes> =>
  (await engineOf(address)).measure(address)

/** Schema versions of an index. */
export type IndexVersions = {
  /** Id of the run. */
  readonly runId: string
  /** Version found in the database. */
  readonly found: number
  /** Version of this program. */
  readonly newest: number
}

/**
 * Lists the schema versions of all indexes at an address. Changes nothing.
 *
 * @example
 * for (const { runId, found, newest } of await indexVersions('sqlite:./data/index')) console.log(run, found, newest)
 */
export async function indexVersions(address: string): Promise<IndexVersions[]> {
  const engine = await engineOf(address)
  const found: IndexVersions[] = []
  for (const runId of await engine.list(address)) found.push({ runId, ...(await engine.versions(address, runId)) })
  return found
}

/**
 * Brings all indexes at an address up to date and returns the versions they had. A newer index is refused.
 *
 * @example
 * await migrateIndexes('sqlite:./data/index')
 */
export async function migrateIndexes(address: string): Promise<IndexVersions[]> {
  const versions = await indexVersions(address)
  for (const { runId } of versions) await (await openIndex(address, runId, { create: false })).close()
  return versions
}

/**
 * Removes the index of a run. Returns false if there was none. A SQLite file that is open is refused.
 *
 * @example
 * await dropIndex('sqlite:./data/index', run)
 */
export async function dropIndex(address: string, runId: string, options: IndexOptions = {}): Promise<boolean> {
  return await (await engineOf(address)).drop(address, requireRunId(runId), settingsOf(options))
}

/** Whether another process, or another part of this one, has the index open, as far as the engine knows. */
export async function isIndexInUse(address: string, runId: string): Promise<boolean> {
  return await (await engineOf(address)).isInUse(address, requireRunId(runId))
}

/** Loaded on first use: where all indexes are on one engine, the other's client is never loaded. */
async function engineOf(address: string): Promise<IndexEngine> {
  if (typeof address === 'string') {
    if (/^sqlite:(?!:memory:)./.test(address)) return (await import('./sqlite/index-database.ts')).sqlite
    if (/^postgres(ql)?:\/\//.test(address)) return await loadPostgres()
  }
  // The address is not shown because it may contain a password.
  throw new ConfigError('address', '(hidden)', "'sqlite:<folder>' or 'postgres://user:password@host:port/database'")
}

async function loadPostgres(): Promise<IndexEngine> {
  const { loadDriver, postgres } = await import('./postgres/index-database.ts')
  await loadDriver()
  return postgres
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

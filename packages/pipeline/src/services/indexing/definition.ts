import { ConfigError } from 'tidemark'
import type { RawTick } from '../../contracts/tick-codec.ts'
import type { IndexedRun } from '../../databases/indexed-run.ts'
import type { TickRange } from '../../databases/ledger-store.ts'
import type { Transaction } from '../../databases/transaction.ts'
import type { Batch } from '../../ledger/batch-claim.ts'
import { oneOf, refuseUnknown } from '../../options.ts'

export type { IndexedRun } from '../../databases/indexed-run.ts'

/**
 * - `metadata`: waits for the run's metadata before anything is indexed; needed for gaps to be known.
 * - `buffering`: many ticks, of several batches, in one flush; without it each tick is flushed alone.
 * - `idempotency`: a batch that was indexed before is not even read.
 * - `dlq`: a batch that fails again and again, whoever tries it, becomes a dead letter.
 */
export type IndexerComponent = 'metadata' | 'buffering' | 'idempotency' | 'dlq'

/** Context of a flush. */
export type Flush = {
  /** The run. */
  readonly run: IndexedRun
  /** Batches whose last ticks are in this flush. */
  readonly completedBatches: readonly Batch[]
}

/** What makes an indexer different from others. */
export type IndexerDefinition = {
  /** Name of the indexer, its consumer group and its ledger: letters, digits, '.', '_' and '-', at most 64 characters. */
  readonly name: string
  /** Components (default: metadata and buffering). */
  readonly components?: readonly IndexerComponent[]
  /** Creates missing tables. Competing instances call it one after the other. */
  prepare?(run: IndexedRun, tx: Transaction): Promise<void> | void
  /**
   * Writes ticks, each of them once per flush. Use upserts keyed by tick: a batch may be redelivered, and a
   * transaction that the server rolled back runs again. If it throws, the batches are redelivered.
   */
  flush(ticks: readonly RawTick[], tx: Transaction, flush: Flush): Promise<void>
  /** Called after the commit of a flush, for example to count. */
  flushed?(ticks: readonly RawTick[]): void
  /**
   * Removes rows of ticks whose batches were removed (`keep`), a few hundred at a time, and returns their number; it
   * is called until there are none. Without it, the rows are kept.
   */
  remove?(ticks: TickRange, tx: Transaction, run: IndexedRun): Promise<number>
  /** Additional metrics of the indexer, from memory. */
  metrics?(): { readonly [name: string]: number }
}

export const COMPONENTS: readonly IndexerComponent[] = ['metadata', 'buffering', 'idempotency', 'dlq']
export const DEFAULT_COMPONENTS: readonly IndexerComponent[] = ['metadata', 'buffering']
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i
export const INDEXER_NAME = "1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit"

export const isIndexerName = (name: unknown): name is string => typeof name === 'string' && NAME.test(name)

/**
 * Checks an indexer definition. Competing instances use the same one.
 *
 * @example
 * const counter = defineIndexer({
 *   name: 'counter',
 *   async prepare(run, tx) {
 *     await tx.run(run.sql('create table if not exists run.counted (tick bigint primary key)'))
 *   },
 *   async flush(ticks, tx, { run }) {
 *     const upsert = run.sql('insert into run.counted values (?) on conflict do nothing')
 *     for (const { tick } of ticks) await tx.run(upsert, tick)
 *   },
 * })
 */
export function defineIndexer(definition: IndexerDefinition): Required<IndexerDefinition> {
  refuseUnknown(definition, ['name', 'components', 'prepare', 'flush', 'flushed', 'remove', 'metrics'])
  const { name, components = DEFAULT_COMPONENTS, prepare = () => {}, flush } = definition
  const { flushed = () => {}, remove = async () => 0, metrics = () => ({}) } = definition
  if (!isIndexerName(name)) throw new ConfigError('name', name, INDEXER_NAME)
  if (!Array.isArray(components)) throw new ConfigError('components', components, `some of ${COMPONENTS.join(', ')}`)
  for (const component of components) oneOf('components', component, COMPONENTS)
  for (const [part, value] of Object.entries({ prepare, flush, flushed, remove, metrics })) {
    if (typeof value !== 'function') throw new ConfigError(part, value, 'a function')
  }
  return { name, components, prepare, flush, flushed, remove, metrics }
}

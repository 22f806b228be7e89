import { ConfigError } from 'tidemark'
import type { RawTick } from '../../contracts/tick-codec.ts'
import type { IndexedRun } from '../../databases/indexed-run.ts'
import type { TickRange } from '../../databases/ledger-store.ts'
import type { Transaction } from '../../databases/transaction.ts'
import type { Batch } from '../../ledger/batch.ts'
import { oneOf, refuseUnknown } from '../../options.ts'

export type { IndexedRun } from '../../databases/indexed-run.ts'

/**
 * - `metadata`: waits for the run's metadata before anything is indexed; needed for gaps to be known.
 * - `buffering`: many ticks, of several batches, in one flush; without it each tick is flushed alone.
 * - `idempotency`: a batch that was indexed before is not even read.
 * - `dlq`: a batch that fails again and again, whoever tries it, becomes a dead letter.
 */
export type IndexerComponent = 'metadata' | 'buffering' | 'idempotency' | 'dlq'

export type Flush = {
  readonly run: IndexedRun
  /** Those of which the last ticks are in this flush. */
  readonly completedBatches: readonly Batch[]
}

/** All that is particular to one indexer. */
export type IndexerDefinition = {
  /** Also its consumer group, and whose ledger it is. Letters, digits, '.', '_' and '-', at most 64. */
  readonly name: string
  /** Default: metadata and buffering. */
  readonly components?: readonly IndexerComponent[]
  /** Makes the tables, where they are not there. Competing instances come here one after the other. */
  prepare?(run: IndexedRun, tx: Transaction): Promise<void> | void
  /**
   * Writes the ticks, each of them once in one flush. Use upserts keyed by tick: a batch may be delivered again, and a
   * transaction that the server gave up runs again. What throws here is the batches' failure: they come again.
   */
  flush(ticks: readonly RawTick[], tx: Transaction, flush: Flush): Promise<void>
  /** After the commit of what `flush` wrote: for what is to be counted once. */
  flushed?(ticks: readonly RawTick[]): void
  /**
   * Removes what it has of these ticks, whose batches were removed (`keep`), a few hundred rows at a time, and gives how many:
   * it is called again until there are none. Without it they stay.
   */
  remove?(ticks: TickRange, tx: Transaction, run: IndexedRun): Promise<number>
  /** Of its own, beside those of every indexer. Read in constant time. */
  metrics?(): { readonly [name: string]: number }
}

export const COMPONENTS: readonly IndexerComponent[] = ['metadata', 'buffering', 'idempotency', 'dlq']
export const DEFAULT_COMPONENTS: readonly IndexerComponent[] = ['metadata', 'buffering']
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/i
export const INDEXER_NAME = "1 to 64 letters, digits, '.', '_' or '-', the first a letter or digit"

export const isIndexerName = (name: unknown): name is string => typeof name === 'string' && NAME.test(name)

/** Checks a definition. Competing instances of an indexer use the same one. */
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

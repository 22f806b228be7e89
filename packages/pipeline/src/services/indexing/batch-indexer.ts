import { EventEmitter } from 'node:events'
import { ConfigError, type Duration } from 'tidemark'
import type { SimulationMetadata } from '../../contracts/tick.ts'
import type { IndexDatabase } from '../../databases/index-database.ts'
import { indexedRun } from '../../databases/indexed-run.ts'
import { MetadataReader, type MetadataReaderOptions, metadataReaderSettings } from '../../databases/metadata-reader.ts'
import { parseDuration } from '../../duration.ts'
import type { Batch } from '../../ledger/batch-claim.ts'
import { BatchLedger } from '../../ledger/batch-ledger.ts'
import type { Gap } from '../../ledger/gap-detection.ts'
import { ledgerFigures } from '../../ledger/ledger-metrics.ts'
import { type LedgerOptions, type LedgerSettings, ledgerSettings } from '../../ledger/ledger-options.ts'
import { refuseUnknown, wholeNumber } from '../../options.ts'
import type { ServiceContext } from '../service.ts'
import { BatchLoop } from './batch-loop.ts'
import { type BufferLimits, TickBuffer } from './components/buffering.ts'
import { DeadLetterComponent, type DeadLetterSink } from './components/dead-letters.ts'
import { IdempotencyComponent } from './components/idempotency.ts'
import { waitForMetadata } from './components/metadata.ts'
import { defineIndexer, type IndexedRun, type IndexerComponent, type IndexerDefinition } from './definition.ts'
import { FlushMeter } from './flush-meter.ts'
import { GapWatch } from './gap-watch.ts'
import { INDEXER_OPTIONS, Indexer, type IndexerOptions } from './indexer.ts'
import { IndexerCounts } from './indexer-counts.ts'
import { LeaseExtender } from './lease-extender.ts'
import { Removal } from './removal.ts'
import type { BatchSource } from './sources/batch-source.ts'

/** Options of a BatchIndexer. Options of a component apply if the definition has that component. */
export type BatchIndexerOptions = IndexerOptions & {
  /** Source of batches. */
  readonly source: BatchSource
  /** `buffering`: maximum number of ticks per flush (default 1000). */
  readonly insertBatchSize?: number
  /** `buffering`: maximum time that a tick is buffered, and that the source is polled (default '5s'). */
  readonly flushTimeout?: Duration
  /** `buffering`: maximum bytes of buffered ticks; a single tick may be larger (default 64 MiB). */
  readonly maxBufferBytes?: number
  /** `metadata`: how often to query it, and after which time to report that it is missing. The indexer keeps waiting. */
  readonly metadata?: MetadataReaderOptions
  /** `dlq`: retries of a batch, over all instances (default 3). */
  readonly maxRetries?: number
  /** `dlq`: where dead letters are stored. */
  readonly deadLetters?: DeadLetterSink
  /** Options of the ledger. */
  readonly ledger?: Pick<LedgerOptions, 'firstTick' | 'claimTimeout' | 'gapWarningTimeout' | 'afterPermanentGap'>
  /** Time over which rates and latencies are computed (default '1m'). */
  readonly metricsWindow?: Duration
}

/** Events of a BatchIndexer. */
export type BatchIndexerEvents = {
  /** A batch is in the index and acknowledged. */
  indexed: [Batch]
  /** A batch was dead-lettered. */
  deadLettered: [Batch]
  /** Ticks have been missing for longer than `gapWarningTimeout`. Emitted once, by one of the competing instances. */
  permanentGap: [Gap]
}

const OPTIONS = [
  ...INDEXER_OPTIONS,
  ...['source', 'insertBatchSize', 'flushTimeout', 'maxBufferBytes', 'metadata', 'maxRetries', 'deadLetters', 'ledger'],
  'metricsWindow',
]
const MiB = 1024 * 1024

type Metered = {
  readonly database?: Pick<IndexDatabase, 'metrics'>
  readonly reader?: MetadataReader
  readonly ledger?: BatchLedger
}

/**
 * Serialises `prepare` of several instances; any number that nobody else uses for an advisory lock of the same
 * database.
 */
const PREPARE_LOCK = 7_310_579_614

/** Runs an indexer definition: `batch-loop.ts` takes a batch from its source into the index. */
export class BatchIndexer extends Indexer {
  /** Events of this instance. */
  readonly events = new EventEmitter<BatchIndexerEvents>()
  readonly #definition: Required<IndexerDefinition>
  readonly #options: BatchIndexerOptions
  readonly #limits: BufferLimits
  readonly #maxRetries: number
  readonly #ledgerSettings: LedgerSettings
  readonly #counts = new IndexerCounts()
  readonly #meter: FlushMeter
  #buffer: TickBuffer | undefined
  #gaps: GapWatch | undefined
  #permanentGaps = 0
  /** Meters of the current or last run. */
  #metered: Metered = {}

  constructor(definition: IndexerDefinition, options: BatchIndexerOptions) {
    refuseUnknown(options, OPTIONS)
    const checked = defineIndexer(definition)
    super(checked.name, options)
    this.#definition = checked
    this.#options = options
    const { insertBatchSize = 1_000, maxBufferBytes = 64 * MiB, flushTimeout = '5s', maxRetries = 3 } = options
    const maxTicks = wholeNumber('insertBatchSize', insertBatchSize, { min: 1 })
    this.#limits = {
      maxTicks: this.#has('buffering') ? maxTicks : 1,
      maxBytes: wholeNumber('maxBufferBytes', maxBufferBytes, { min: 1 }),
      timeoutMs: parseDuration('flushTimeout', flushTimeout, { min: 1 }),
    }
    this.#maxRetries = wholeNumber('maxRetries', maxRetries, { min: 0 })
    // The sampling interval comes with the metadata; the rest is checked now.
    this.#ledgerSettings = ledgerSettings({ indexer: checked.name, samplingInterval: 1, ...options.ledger })
    metadataReaderSettings(options.metadata ?? {})
    this.#meter = new FlushMeter(parseDuration('metricsWindow', options.metricsWindow ?? '1m', { min: 1 }))
    if (typeof options.source?.open !== 'function') {
      throw new ConfigError('source', options.source, 'topicSource(…) or storageSource(…)')
    }
    if (this.#has('dlq') && typeof options.deadLetters !== 'function') {
      throw new ConfigError('deadLetters', options.deadLetters, "a function, where the component 'dlq' is used")
    }
    const { maxAttempts } = options.source
    if (this.#has('dlq') && this.#maxRetries >= maxAttempts) {
      const why = `its source gives up a batch after ${maxAttempts} attempts`
      throw new ConfigError('maxRetries', maxRetries, `a whole number below ${maxAttempts}: ${why}`)
    }
    if (options.source.kind === 'storage' && !this.#has('metadata')) {
      throw new ConfigError('components', checked.components, "with 'metadata', which the storage source needs")
    }
  }

  protected override async indexRun(database: IndexDatabase, context: ServiceContext): Promise<void> {
    const reader = new MetadataReader(database, this.#options.metadata ?? {})
    this.#metered = { database, ...(this.#has('metadata') && { reader }) }
    const metadata = this.#has('metadata')
      ? await waitForMetadata(reader, database, this.#options.metadata ?? {}, context)
      : null
    if (context.signal.aborted) return
    const run = indexedRun(database, metadata)
    await this.#prepareTables(run)
    const ledger = metadata && (await this.#openLedger(database, metadata))
    this.#metered = { ...this.#metered, ...(ledger && { ledger }) }
    await this.#loop(run, ledger, context)
  }

  protected override metrics(): Record<string, number> {
    return {
      ...this.#counts.snapshot(),
      ...this.#meter.snapshot(),
      ...this.#definition.metrics(),
      batchesHeld: this.#buffer?.batches ?? 0,
      bufferedTicks: this.#buffer?.ticks ?? 0,
      bufferedBytes: this.#buffer?.bytes ?? 0,
      openGaps: this.#gaps?.open ?? 0,
      permanentGaps: this.#permanentGaps,
      ...this.#metered.database?.metrics(),
      ...this.#metered.reader?.metrics(),
      ...(this.#metered.ledger && ledgerFigures(this.#metered.ledger.metrics())),
    }
  }

  async #prepareTables(run: IndexedRun): Promise<void> {
    await run.database.transaction(async tx => {
      // Two transactions that create the same table at the same time fail, even with "if not exists".
      if (run.database.engine === 'postgres') await tx.rows('select pg_advisory_xact_lock($1)', PREPARE_LOCK)
      await this.#definition.prepare(run, tx)
    })
  }

  async #openLedger(database: IndexDatabase, { samplingInterval }: SimulationMetadata): Promise<BatchLedger> {
    const ledger = await BatchLedger.open(database, {
      indexer: this.#definition.name,
      samplingInterval,
      ...this.#options.ledger,
    })
    ledger.events.on('permanentGap', gap => {
      const { tickStart, tickEnd } = gap
      this.#permanentGaps++
      this.logger.warn({ service: this.name, runId: database.runId, tickStart, tickEnd }, 'ticks are missing')
      this.events.emit('permanentGap', gap)
    })
    return ledger
  }

  async #loop(run: IndexedRun, ledger: BatchLedger | null, context: ServiceContext): Promise<void> {
    const { storage } = this
    const { name: indexer } = this.#definition
    const { runId, database } = run
    const { claimTimeoutMs } = this.#ledgerSettings
    const removal = new Removal({ definition: this.#definition, run, ledger, storage })
    await removal.begin()
    const source = await this.#options.source.open({ runId, indexer, storage, ledger, claimTimeoutMs, context })
    context.succeeded('open')
    const gaps = ledger && new GapWatch(ledger, this.#ledgerSettings)
    const buffer = new TickBuffer(this.#limits)
    this.#gaps = gaps ?? undefined
    this.#buffer = buffer
    try {
      using extender = new LeaseExtender(source.extendEveryMs, context.note)
      const loop = new BatchLoop({
        definition: this.#definition,
        run,
        source,
        storage,
        buffer,
        extender,
        idempotency: this.#has('idempotency') ? new IdempotencyComponent(database.idempotency, indexer) : null,
        deadLetters: this.#deadLetters(database),
        gaps,
        removal,
        counts: this.#counts,
        meter: this.#meter,
        context,
        isPaused: () => this.state === 'PAUSED',
        // Separately: a listener that throws must not make an acked batch look failed.
        settled: ({ key, tickStart, tickEnd }, outcome) =>
          queueMicrotask(() => this.events.emit(outcome, { key, tickStart, tickEnd })),
      })
      await loop.run()
    } finally {
      await source.close()
    }
  }

  #deadLetters({ retries }: IndexDatabase): DeadLetterComponent | null {
    const { deadLetters } = this.#options
    if (!this.#has('dlq') || deadLetters === undefined) return null
    return new DeadLetterComponent(retries, this.#definition.name, this.#maxRetries, deadLetters)
  }

  #has(component: IndexerComponent): boolean {
    return this.#definition.components.includes(component)
  }
}

import type { Duration, Logger } from 'tidemark'
import { retryDelayMs } from '../../backoff.ts'
import type { IndexDatabase } from '../../databases/index-database.ts'
import { type IndexOptions, openIndex } from '../../databases/open-index.ts'
import { parseDuration } from '../../duration.ts'
import { isEnvironmentFault, whatIsAway } from '../../faults.ts'
import { makeRunId, requireRunId } from '../../run-id.ts'
import type { Storage } from '../../storage/storage.ts'
import { Service, type ServiceContext } from '../service.ts'
import { pauseFor, untilAborted } from '../until-aborted.ts'

/** Options of every indexer. */
export type IndexerOptions = {
  /** Storage of the batches. */
  readonly storage: Storage
  /** Address of the indexes: `sqlite:<folder>` or `postgres://…`. */
  readonly index: string
  /** Options of the index. */
  readonly indexOptions?: IndexOptions
  /** Run to index (default: the newest run that starts after the indexer). */
  readonly runId?: string
  /**
   * Without `runId`: run after which the newest is indexed, such as the newest that is stored now (default: by this machine's
   * clock, any run that starts later).
   */
  readonly afterRun?: string
  /** Time between two searches for a run (default '1s'). */
  readonly discoveryInterval?: Duration
  /** Logger (default: warnings and errors to standard error). */
  readonly logger?: Logger
}

export const INDEXER_OPTIONS = [
  'storage',
  'index',
  'indexOptions',
  'runId',
  'afterRun',
  'discoveryInterval',
  'logger',
] as const

const CONSOLE: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
}
/** Run ids count hundredths of a second; this sorts before any id of the same hundredth. */
const LOWEST_UUID = '00000000-0000-0000-0000-000000000000'

/** Finds its run, opens the index of the run, and calls `indexRun`. */
export abstract class Indexer extends Service {
  /** Storage of the batches. */
  protected readonly storage: Storage
  readonly #index: string
  readonly #indexOptions: IndexOptions
  readonly #runId: string | undefined
  readonly #afterRun: string | undefined
  readonly #discoveryMs: number

  constructor(name: string, options: IndexerOptions) {
    super(name, options.logger ?? CONSOLE)
    this.storage = options.storage
    this.#index = options.index
    this.#indexOptions = options.indexOptions ?? {}
    this.#runId = options.runId === undefined ? undefined : requireRunId(options.runId)
    this.#afterRun = options.afterRun === undefined ? undefined : requireRunId(options.afterRun)
    this.#discoveryMs = parseDuration('discoveryInterval', options.discoveryInterval ?? '1s', { min: 1 })
  }

  /**
   * Indexes the run until the signal aborts or there is no more to do. Called again after an error that is caused by
   * the environment.
   */
  protected abstract indexRun(database: IndexDatabase, context: ServiceContext): Promise<void>

  protected override async run(context: ServiceContext): Promise<void> {
    const runId = this.#runId ?? (await this.#discover(context))
    if (runId === null) return
    for (let failures = 0; !context.signal.aborted; failures++) {
      try {
        return await this.#openAndIndex(runId, context)
      } catch (error) {
        // Before anything is indexed, or because the index is another one now: everything starts again.
        if (!isEnvironmentFault(error)) throw error
        context.report('open', error)
        using _waiting = context.waiting(whatIsAway(error))
        await pauseFor(retryDelayMs(failures), context.signal)
      }
    }
  }

  async #openAndIndex(runId: string, context: ServiceContext): Promise<void> {
    const opening = context.watch('open', () => openIndex(this.#index, runId, this.#indexOptions))
    await using database = await untilAborted(opening, context.signal)
    if (database === null) {
      // An unresponsive database must not delay a stop.
      opening.then(late => late.close()).catch(() => undefined)
      return
    }
    this.logger.info({ service: this.name, runId, index: database.location }, 'indexing a run')
    await this.indexRun(database, context)
  }

  async #discover(context: ServiceContext): Promise<string | null> {
    const { signal } = context
    const after = this.#afterRun ?? makeRunId(Date.now(), LOWEST_UUID)
    using _waiting = context.waiting('a run to begin')
    while (!signal.aborted) {
      const newest = await this.#newestRun(after, context)
      if (newest !== undefined) return newest
      await pauseFor(this.#discoveryMs, signal)
    }
    return null
  }

  async #newestRun(since: string, { report, succeeded }: ServiceContext): Promise<string | undefined> {
    let newest: string | undefined
    try {
      for (let after: string | null = since; after !== null; ) {
        const page = await this.storage.listRuns({ after })
        newest = page.items.at(-1) ?? newest
        after = page.next
      }
      succeeded('look for a run')
    } catch (error) {
      report('look for a run', error)
    }
    return newest
  }
}

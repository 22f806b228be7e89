import type { Duration, Logger } from 'tidemark'
import type { IndexDatabase } from '../../databases/index-database.ts'
import { type IndexOptions, openIndex } from '../../databases/open-index.ts'
import { parseDuration } from '../../duration.ts'
import { makeRunId, requireRunId } from '../../run-id.ts'
import type { Storage } from '../../storage/storage.ts'
import { Service, type ServiceContext } from '../service.ts'
import { pauseFor } from './until-aborted.ts'

/** What every indexer needs to know. */
export type IndexerOptions = {
  readonly storage: Storage
  /** Where the indexes are: `sqlite:<folder>` or `postgres://…`. */
  readonly index: string
  readonly indexOptions?: IndexOptions
  /** Default: the newest run that starts after the indexer has. */
  readonly runId?: string
  /** How often to look for a run. Default '1s'. */
  readonly discoveryInterval?: Duration
  /** Default: warnings and errors to the console. */
  readonly logger?: Logger
}

export const INDEXER_OPTIONS = ['storage', 'index', 'indexOptions', 'runId', 'discoveryInterval', 'logger'] as const

const CONSOLE: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
}
/** Run ids count hundredths of a second; this sorts before any of its own hundredth. */
const LOWEST_UUID = '00000000-0000-0000-0000-000000000000'

/** Finds its run, opens the run's index, and hands both to `indexRun`. */
export abstract class Indexer extends Service {
  protected readonly storage: Storage
  readonly #index: string
  readonly #indexOptions: IndexOptions
  readonly #runId: string | undefined
  readonly #discoveryMs: number

  constructor(name: string, options: IndexerOptions) {
    super(name, options.logger ?? CONSOLE)
    this.storage = options.storage
    this.#index = options.index
    this.#indexOptions = options.indexOptions ?? {}
    this.#runId = options.runId === undefined ? undefined : requireRunId(options.runId)
    this.#discoveryMs = parseDuration('discoveryInterval', options.discoveryInterval ?? '1s', { min: 1 })
  }

  /** Until the signal aborts, or there is no more to do. */
  protected abstract indexRun(database: IndexDatabase, context: ServiceContext): Promise<void>

  protected override async run(context: ServiceContext): Promise<void> {
    const runId = this.#runId ?? (await this.#discover(context))
    if (runId === null) return
    await using database = await openIndex(this.#index, runId, this.#indexOptions)
    this.logger.info({ service: this.name, runId, index: database.location }, 'indexing a run')
    await this.indexRun(database, context)
  }

  async #discover({ signal, report }: ServiceContext): Promise<string | null> {
    const after = makeRunId(Date.now(), LOWEST_UUID)
    while (!signal.aborted) {
      const newest = await this.#newestRun(after).catch(error => report('look for a run', error))
      if (newest !== undefined) return newest
      await pauseFor(this.#discoveryMs, signal)
    }
    return null
  }

  async #newestRun(since: string): Promise<string | undefined> {
    let newest: string | undefined
    for (let after: string | null = since; after !== null; ) {
      const page = await this.storage.listRuns({ after })
      newest = page.items.at(-1) ?? newest
      after = page.next
    }
    return newest
  }
}

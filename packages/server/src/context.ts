import { type Pipeline, TileMakers } from '@tidemark/pipeline'
import { loadPage, type Page } from '@tidemark/web'
import type { Tidemark } from 'tidemark'
import { LargeAnswers } from './answers/large-answers.ts'
import { SharedReads } from './answers/shared-reads.ts'
import { UnreadPulls } from './answers/unread-pulls.ts'
import { Audit } from './audit/audit.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'
import { NotServedError } from './errors.ts'
import { HealthLook } from './health/health-look.ts'
import { LetterErrors } from './live/letter-errors.ts'
import { LiveLook } from './live/live-look.ts'
import type { Settings } from './options.ts'
import { IngestedRuns } from './runs/ingested-runs.ts'
import type { RunFacts } from './runs/run-facts.ts'
import { RunIndexes } from './runs/run-indexes.ts'
import { RunSeries } from './runs/run-series.ts'
import { RunsLook } from './runs/runs-look.ts'
import { Security } from './security/security.ts'
import { EventHub } from './streams/event-hub.ts'

/** What the routes share. */
export class Context {
  readonly settings: Settings
  readonly streams: ConcurrencyLimit
  readonly pulls: ConcurrencyLimit
  readonly events: EventHub
  readonly health: HealthLook
  readonly live: LiveLook
  readonly letterErrors: LetterErrors
  readonly largeAnswers: LargeAnswers
  readonly unreadPulls: UnreadPulls
  readonly ingestedRuns: IngestedRuns
  readonly security: Security
  readonly audit: Audit
  readonly sharedReads = new SharedReads()
  readonly tileMakers = new TileMakers()
  /** Aborts when the server closes: waits and streams end. */
  readonly closing = new AbortController()
  readonly #runs: RunIndexes | undefined
  readonly #runsLook: RunsLook | undefined
  #page: Promise<Page> | undefined

  constructor(settings: Settings) {
    const { limits, indexes } = settings
    this.settings = settings
    this.security = new Security(settings)
    this.audit = new Audit(settings.logger, settings.audit)
    this.streams = new ConcurrencyLimit('event streams', limits.streams, 'streams')
    this.pulls = new ConcurrencyLimit('waiting pulls', limits.pulls, 'pulls')
    this.#runs =
      indexes === undefined ? undefined : new RunIndexes(indexes, limits.openRuns, settings.environmentStrategies)
    this.ingestedRuns = new IngestedRuns(this.#runs)
    this.health = new HealthLook(settings)
    this.live = new LiveLook(settings, this.health)
    this.letterErrors = new LetterErrors(settings)
    this.#runsLook = this.#runs && new RunsLook(settings, this.#runs)
    const watched = this.#runs &&
      this.#runsLook && { look: this.#runsLook, series: new RunSeries(this.#runs, settings.logger) }
    this.events = new EventHub(settings, watched, this.live)
    this.largeAnswers = new LargeAnswers(limits.unsentBytes)
    this.unreadPulls = new UnreadPulls(settings)
  }

  get topics(): Tidemark {
    return this.settings.topics ?? refuse('topics', 'topics')
  }

  get pipeline(): Pipeline {
    return this.settings.pipeline ?? refuse('a pipeline', 'pipeline')
  }

  get runs(): RunIndexes {
    return this.#runs ?? refuse('indexes of runs', 'indexes')
  }

  get runsLook(): RunsLook {
    return this.#runsLook ?? refuse('indexes of runs', 'indexes')
  }

  /** Bundled or read when it is first requested. */
  page(): Promise<Page> {
    this.#page ??= loadPage()
    return this.#page
  }

  /** null: this server has no page. */
  async pageVersion(): Promise<string | null> {
    return this.settings.page ? (await this.page()).version : null
  }

  /** null: there is none, or this server shows no runs. */
  async newestRun(): Promise<RunFacts | null> {
    return (await this.#runsLook?.readNewest()) ?? null
  }

  async close(): Promise<void> {
    this.closing.abort()
    this.security.close()
    this.events.close()
    this.live.close()
    await this.#runs?.close()
    await this.tileMakers.close()
  }

  /** Runs after the last answer. */
  async finish(): Promise<void> {
    await this.unreadPulls.done()
    await this.audit.close()
  }
}

function refuse(what: string, option: string): never {
  throw new NotServedError(what, option)
}

import type { Pipeline } from '@tidemark/pipeline'
import type { Tidemark } from 'tidemark'
import { NotServedError } from './errors.ts'
import type { Settings } from './options.ts'
import { Places } from './places.ts'
import { IngestedRuns } from './runs/ingested-runs.ts'
import { RunIndexes } from './runs/run-indexes.ts'
import { EventHub } from './streams/event-hub.ts'

/** What the routes share. */
export class Context {
  readonly settings: Settings
  readonly streams: Places
  readonly pulls: Places
  readonly events: EventHub
  readonly ingestedRuns: IngestedRuns
  /** Aborts when the server closes: waits and streams end. */
  readonly closing = new AbortController()
  readonly #runs: RunIndexes | undefined

  constructor(settings: Settings) {
    const { limits, indexes } = settings
    this.settings = settings
    this.streams = new Places('event streams', limits.streams, 'streams')
    this.pulls = new Places('waiting pulls', limits.pulls, 'pulls')
    this.#runs =
      indexes === undefined ? undefined : new RunIndexes(indexes, limits.openRuns, settings.environmentStrategies)
    this.ingestedRuns = new IngestedRuns(this.#runs)
    this.events = new EventHub(settings, this.#runs)
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

  async close(): Promise<void> {
    this.closing.abort()
    this.events.close()
    await this.#runs?.close()
  }
}

function refuse(what: string, option: string): never {
  throw new NotServedError(what, option)
}

import { randomBytes } from 'node:crypto'
import type { EventName, Events, Tidemark } from 'tidemark'
import type { Settings } from '../options.ts'
import { httpWords, withoutPaths } from '../problems/http-words.ts'
import type { RunIndexes } from '../runs/run-indexes.ts'
import { Activity } from './activity.ts'
import type { EventStream, ServerEvent } from './event-stream.ts'

/** For readers that come back: so many events are kept. */
const KEPT = 1_000
const LOOK_MS = 1_000

/** What happens once in a while, and is told as it happens. */
const TOLD: readonly EventName[] = [
  'nacked',
  'dead-lettered',
  'stale',
  'taken-over',
  'claim-released',
  'group-started',
  'group-paused',
  'group-resumed',
  'group-stopped',
  'group-missed',
  'group-dead',
  'group-resurrected',
  'group-cancelled',
  'group-suspended',
  'group-recovered',
  'group-removed',
  'group-reset',
  'messages-lost',
  'loss-acknowledged',
  'topic-unsubscribed',
  'topic-deleted',
  'namespace-gone',
  'zombie',
  'clock-off',
  'clock-right',
  'database-rewound',
  'backfill-progress',
  'backfill-ended',
  'job-ended',
  'clean-up',
  'redriven',
  'discarded',
  'outage',
  'outage-ended',
  'error',
]

/**
 * One stream of everything, for all who listen: `topic` (an event of a topic), `activity` (what was published, received and
 * acked, summed up), `service` (a change of the pipeline), `pipeline` (its status) and `run` (how far the newest run is
 * indexed). It listens and looks only while somebody reads.
 */
export class EventHub {
  readonly #settings: Settings
  readonly #runs: RunIndexes | undefined
  readonly #readers = new Set<EventStream>()
  /** Tells this life of the server from others: an id of another one can't be gone on from. */
  readonly #life = randomBytes(4).toString('hex')
  readonly #last = new Map<string, string>()
  #kept: { readonly number: number; readonly event: ServerEvent }[] = []
  #number = 0
  #stop: (() => void) | undefined

  constructor(settings: Settings, runs: RunIndexes | undefined) {
    this.#settings = settings
    this.#runs = runs
  }

  /** Feeds the reader until it goes away, from where it was where that is still known. */
  async follow(stream: EventStream, lastEventId: string | undefined): Promise<void> {
    this.#stop ??= this.#start()
    for (const event of this.#since(lastEventId)) stream.push(event)
    this.#readers.add(stream)
    await new Promise<void>(resolve => {
      if (stream.signal.aborted) return resolve()
      stream.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    this.#readers.delete(stream)
    if (this.#readers.size === 0) this.close()
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
    // What happens while nobody listens is not heard: going on from before would hide that.
    this.#kept = []
    this.#last.clear()
  }

  #since(lastEventId: string | undefined): ServerEvent[] {
    const [life, number] = lastEventId?.split('-') ?? []
    const known = [...this.#last].map(([event, data]): ServerEvent => ({ event, data: JSON.parse(data) }))
    if (life !== this.#life || !/^\d{1,15}$/.test(number ?? '')) return known
    return this.#kept.filter(each => each.number > Number(number)).map(({ event }) => event)
  }

  #tell(event: string, data: unknown): void {
    const number = ++this.#number
    const told = { id: `${this.#life}-${number}`, event, data }
    this.#kept.push({ number, event: told })
    if (this.#kept.length > KEPT) this.#kept.shift()
    for (const reader of this.#readers) reader.push(told)
  }

  /** Only where it has changed, and at once for whoever comes later. */
  #tellState(event: string, data: unknown): void {
    const text = JSON.stringify(data)
    if (this.#last.get(event) === text) return
    this.#last.set(event, text)
    this.#tell(event, data)
  }

  #start(): () => void {
    const { topics, pipeline } = this.#settings
    const activity = new Activity()
    const ends = [
      ...(topics === undefined ? [] : [...this.#listen(topics), activity.listen(topics)]),
      ...(pipeline === undefined
        ? []
        : [
            pipeline.services.listen(event =>
              this.#tell('service', event.type === 'error' ? { ...event, error: textOf(event.error) } : event),
            ),
          ]),
    ]
    let isLooking = false
    const look = (): void => {
      const summed = activity.take()
      if (summed !== undefined) this.#tell('activity', summed)
      if (isLooking) return
      isLooking = true
      this.#look()
        .catch(error => this.#settings.logger.warn({ err: error }, 'the progress of the newest run could not be read'))
        .finally(() => {
          isLooking = false
        })
    }
    look()
    const timer = setInterval(look, LOOK_MS)
    timer.unref()
    return () => {
      clearInterval(timer)
      for (const end of ends) end()
    }
  }

  #listen(topics: Tidemark): (() => void)[] {
    return TOLD.map(name =>
      topics.on(name, event => {
        this.#tell('topic', { name, ...toPlain(event) })
      }),
    )
  }

  async #look(): Promise<void> {
    const status = this.#settings.pipeline?.status()
    if (status !== undefined) {
      const services = status.services.map(({ name, state, healthy, waitingFor, metrics }) => {
        return { name, state, healthy, waitingFor: waitingFor && withoutPaths(waitingFor), metrics }
      })
      this.#tellState('pipeline', { healthy: status.healthy, services })
    }
    const newest = await this.#runs?.newestProgress()
    if (newest !== undefined && this.#stop !== undefined) this.#tellState('run', newest)
  }
}

/** Errors as what they say; no stack leaves the process. */
function toPlain(event: Events[EventName]): object {
  return Object.fromEntries(
    Object.entries(event).map(([key, value]) => [key, value instanceof Error ? textOf(value) : value]),
  )
}

const textOf = (error: Error): object => ({
  name: error.name,
  message: httpWords({ ...error, message: error.message }),
})

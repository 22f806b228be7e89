import { randomBytes } from 'node:crypto'
import type { EventName, Events, Tidemark } from 'tidemark'
import { LiveChanges } from '../live/live-changes.ts'
import type { LiveLook, Looked } from '../live/live-look.ts'
import { type Overview, overviewOf } from '../live/overview.ts'
import { TopicDetails } from '../live/topic-details.ts'
import type { Settings } from '../options.ts'
import { httpWords, withoutPaths } from '../problems/http-words.ts'
import type { RunSeries } from '../runs/run-series.ts'
import type { RunsLook } from '../runs/runs-look.ts'
import { VERSION } from '../version.ts'
import { Activity } from './activity.ts'
import { DatabaseWatch } from './database-watch.ts'
import { type Detail, NO_DETAIL } from './detail.ts'
import type { EventStream, ServerEvent } from './event-stream.ts'

/** Number of events kept for readers that reconnect. */
const KEPT = 1_000
const LOOK_MS = 1_000

/** Rare events, reported as they happen. */
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

type Runs = { readonly look: RunsLook; readonly series: RunSeries }

/**
 * One stream of everything for all readers: `topic` (an event of this process), `activity` (what all processes have
 * published, received and acked, summed up), `change` (what was found in the database), `service` (a change of the
 * pipeline), `pipeline` (its status), `run` (how far the newest run and all growing runs are indexed), `series` (new
 * points of a run that the reader asked for), `lanes` (a topic that the reader asked for) and `missed`. It listens and reads only while somebody is connected, and
 * once for all of them.
 */
export class EventHub {
  readonly #settings: Settings
  readonly #runs: Runs | undefined
  readonly #live: LiveLook
  readonly #changes = new LiveChanges()
  readonly #details = new TopicDetails()
  readonly #readers = new Map<EventStream, Detail>()
  /** Identifies a period with at least one reader: an id from before, or of another server, can't be continued from. */
  #life = ''
  /** The last event of everything that has a state: of the pipeline, and of each run. */
  readonly #last = new Map<string, { readonly event: string; readonly text: string }>()
  #kept: { readonly number: number; readonly event: ServerEvent }[] = []
  #number = 0
  #stop: (() => void) | undefined

  constructor(settings: Settings, runs: Runs | undefined, live: LiveLook) {
    this.#settings = settings
    this.#runs = runs
    this.#live = live
  }

  /** Feeds the reader until it disconnects, from its last event if that is still known. `page`: told in its greeting. */
  async follow(
    stream: EventStream,
    lastEventId: string | undefined,
    detail: Detail = NO_DETAIL,
    page?: string | null,
  ): Promise<void> {
    if (this.#stop === undefined) {
      this.#life = randomBytes(4).toString('hex')
      this.#stop = this.#start()
    }
    stream.push({
      event: 'hello',
      data: { life: this.#life, version: VERSION, ...(page !== undefined && { page }), at: new Date() },
    })
    for (const event of this.#since(lastEventId)) stream.push(event)
    // Of the newest run, the first reader would otherwise be told a second later, and its page would move.
    const [looked] = await Promise.all([this.#live.read(2_000), this.#runs?.look.readNewest()])
    stream.push({ event: 'snapshot', data: this.#overviewOf(looked, detail) })
    this.#readers.set(stream, detail)
    const ends = this.#watchTopics(stream, detail)
    await new Promise<void>(resolve => {
      if (stream.signal.aborted) return resolve()
      stream.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    for (const end of ends) end()
    this.#readers.delete(stream)
    if (this.#readers.size === 0) this.close()
  }

  /** Not kept for reconnecting readers: each begins with the whole topic. */
  #watchTopics(stream: EventStream, detail: Detail): (() => void)[] {
    const { topics, logger } = this.#settings
    if (topics === undefined) return []
    return detail.topics.map(topic =>
      this.#details.watch(topics, logger, topic, data => stream.push({ event: 'lanes', data })),
    )
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
    // Events are missed while nobody listens: continuing from before would hide that.
    this.#kept = []
    this.#last.clear()
  }

  #since(lastEventId: string | undefined): ServerEvent[] {
    const [life, number] = lastEventId?.split('-') ?? []
    const known = [...this.#last.values()].map(({ event, text }): ServerEvent => ({ event, data: JSON.parse(text) }))
    if (lastEventId === undefined) return known
    const lost = (reason: 'restarted' | 'too-old', last: number): ServerEvent => ({
      event: 'missed',
      data: { reason, from: lastEventId.slice(0, 100), to: `${this.#life}-${last}` },
    })
    if (life !== this.#life || !/^\d{1,15}$/.test(number ?? '')) return [lost('restarted', this.#number), ...known]
    const oldest = this.#kept[0]?.number ?? this.#number + 1
    const missed = this.#kept.filter(each => each.number > Number(number)).map(({ event }) => event)
    return oldest > Number(number) + 1 ? [lost('too-old', oldest - 1), ...known, ...missed] : missed
  }

  #tell(event: string, data: unknown): void {
    const number = ++this.#number
    const told = { id: `${this.#life}-${number}`, event, data }
    this.#kept.push({ number, event: told })
    if (this.#kept.length > KEPT) this.#kept.shift()
    for (const reader of this.#readers.keys()) reader.push(told)
  }

  /** Sent only if it has changed, and at once to readers that come later. */
  #tellState(event: string, data: unknown, of = event): void {
    const text = JSON.stringify(data)
    if (this.#last.get(of)?.text === text) return
    this.#last.set(of, { event, text })
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
    const watch = topics && this.#watch(activity)
    let isLooking = false
    const look = (): void => {
      const summed = activity.take()
      if (summed !== undefined) this.#tell('activity', summed)
      if (isLooking) return
      isLooking = true
      this.#look()
        .catch(error => this.#settings.logger.warn({ err: error }, 'the progress of the runs could not be read'))
        .finally(() => {
          isLooking = false
        })
    }
    look()
    const timer = setInterval(look, LOOK_MS)
    timer.unref()
    return () => {
      clearInterval(timer)
      watch?.()
      for (const end of ends) end()
    }
  }

  /** After each read of the database, which all watchers share. The returned function ends it. */
  #watch(activity: Activity): () => void {
    const watch = new DatabaseWatch()
    return this.#live.watch(looked => {
      const { changes, sums } = watch.compare(looked.stats, activity.takeOwn())
      activity.addOthers(sums)
      for (const change of changes) this.#tell('change', change)
      this.#tellFigures(looked)
      this.#details.add(looked.stats)
    })
  }

  /** Figures are not kept for reconnecting readers: a snapshot tells them more. */
  #tellFigures(looked: Looked): void {
    const { isOther, rows } = this.#changes.compare(
      looked,
      new Set([...this.#readers.values()].flatMap(each => each.topics)),
    )
    const snapshots = new Map<string, Overview>()
    for (const [reader, detail] of this.#readers) {
      if (!isOther) {
        reader.push({ event: 'live', data: rows })
        continue
      }
      // The same for all who look at the same topics.
      const key = detail.topics.join()
      const data = snapshots.get(key) ?? this.#overviewOf(looked, detail)
      snapshots.set(key, data)
      reader.push({ event: 'snapshot', data })
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
    if (this.#runs !== undefined) await this.#lookAtRuns(this.#runs)
  }

  async #lookAtRuns({ look, series }: Runs): Promise<void> {
    const detailed = [...new Set([...this.#readers.values()].flatMap(({ runs }) => runs))]
    const runs = await look.look(detailed)
    const points = await series.since(detailed)
    if (this.#stop === undefined) return
    for (const run of runs) this.#tellState('run', run, `run:${run.runId}`)
    const told = new Set(runs.map(({ runId }) => `run:${runId}`))
    // A run that no longer grows, and is not the newest, need not be sent to new readers.
    for (const of of this.#last.keys()) if (of.startsWith('run:') && !told.has(of)) this.#last.delete(of)
    for (const data of points) {
      // Not kept for reconnecting readers: they request the series.
      for (const [reader, { runs: wanted }] of this.#readers) {
        if (wanted.includes(data.runId)) reader.push({ event: 'series', data })
      }
    }
  }

  #overviewOf(looked: Looked, { topics }: Detail): Overview {
    return overviewOf(looked, this.#runs?.look.newest ?? null, topics)
  }
}

/** Errors as text; no stack leaves the process. */
function toPlain(event: Events[EventName]): object {
  return Object.fromEntries(
    Object.entries(event).map(([key, value]) => [key, value instanceof Error ? textOf(value) : value]),
  )
}

const textOf = (error: Error): object => ({
  name: error.name,
  message: httpWords({ ...error, message: error.message }),
})

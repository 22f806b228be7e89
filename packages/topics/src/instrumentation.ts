import { EventEmitter } from 'node:events'
import type { Logger } from './logger.ts'
import { type Counted, MetricsRegistry } from './metrics/metrics.ts'
import type { BackfillStatus, Resurrected } from './stores/fan-out-store.ts'

/** Why a group lost messages. */
export type LossReason = 'max-retention' | 'zombie-advanced' | 'resurrection'

type InGroup = { readonly topic: string; readonly group: string }
type OneMessage = InGroup & { readonly messageId: string }

/** Everything that happens, by the name `tm.on` takes. Frequent events come once per page, with a count. */
export type Events = {
  published: { readonly topic: string; readonly count: number; readonly duplicates: number }
  received: InGroup & { readonly count: number }
  acked: InGroup & { readonly count: number }
  filtered: InGroup & { readonly count: number }
  released: InGroup & { readonly count: number }
  /** A failed attempt; `retryInMs` is null where it was the last. */
  nacked: OneMessage & { readonly attempt: number; readonly error: Error; readonly retryInMs: number | null }
  /** A message that failed before, or whose lease ran out, is being tried again. */
  retried: InGroup & { readonly count: number }
  'dead-lettered': InGroup & { readonly count: number }
  stale: OneMessage & { readonly version: number }
  'taken-over': InGroup & { readonly count: number }
  'claim-conflict': InGroup
  'group-started': InGroup & { readonly created: boolean; readonly status: string }
  'group-paused': InGroup
  'group-resumed': InGroup
  'group-stopped': InGroup & { readonly reason?: Error }
  /** A whole heartbeat timeout passed without one; after `of` misses the group is dead. */
  'group-missed': InGroup & { readonly misses: number; readonly of: number }
  'group-dead': InGroup & { readonly silentMs: number }
  /** Back from the dead; `skipped` messages were passed over, `backfill`: what it missed is being brought. */
  'group-resurrected': InGroup & Resurrected
  'group-cancelled': InGroup
  /** Messages a group will never get, and why. */
  'messages-lost': InGroup & { readonly count: number; readonly reason: LossReason }
  /** A pub-sub topic keeps messages and nobody is subscribed. */
  'topic-unsubscribed': { readonly topic: string; readonly messages: number; readonly oldestAt: Date }
  /** A live group with messages waiting has not moved for its topic's zombieTtl. */
  zombie: InGroup & { readonly movedAt: Date; readonly waiting: number }
  /** `done` of `total` messages were gone through, `processed` of them are for the group; at most once a second. */
  'backfill-progress': InGroup & {
    readonly processed: number
    readonly done: number
    readonly total: number
    /** Messages a second. */
    readonly rate: number
    readonly etaMs: number | null
  }
  'backfill-ended': InGroup & { readonly status: BackfillStatus; readonly processed: number; readonly error?: Error }
  'job-ended': {
    readonly job: string
    readonly ms: number
    readonly result: Readonly<Record<string, number>>
    readonly error?: Error
  }
  /** Messages that nobody needs any more were removed. */
  'clean-up': { readonly topic: string; readonly count: number; readonly partitionsDropped: number }
  'group-removed': InGroup
  /** Placed at another position by an operator. */
  'group-reset': InGroup
  'topic-deleted': { readonly topic: string }
  /** Dead letters that went back into delivery, and that were deleted. */
  redriven: { readonly topic: string; readonly count: number }
  discarded: { readonly topic: string; readonly count: number }
  /** Something failed that heals itself or needs a person; the work goes on where it can. */
  error: { readonly topic: string; readonly group?: string; readonly action: string; readonly error: Error }
}

export type EventName = keyof Events

/** The one point every state change passes: it feeds the metrics, the log and the listeners. */
export class Instrumentation {
  readonly metrics = new MetricsRegistry()
  readonly logger: Logger
  readonly #emitter = new EventEmitter()

  constructor(logger: Logger) {
    this.logger = logger
    // One listener per group and event is ordinary use here, not a leak.
    this.#emitter.setMaxListeners(0)
  }

  on<Name extends EventName>(name: Name, listener: (event: Events[Name]) => void): () => void {
    this.#emitter.on(name, listener)
    return () => this.#emitter.off(name, listener)
  }

  emit<Name extends EventName>(name: Name, event: Events[Name]): void {
    this.#count(name, event)
    this.#log(name, event)
    // Node's emitter throws an 'error' nobody listens to; here an error is news, not a crash.
    if (this.#emitter.listenerCount(name) === 0) return
    try {
      this.#emitter.emit(name, event)
    } catch (error) {
      this.logger.error({ err: error, event: name }, 'a listener threw')
    }
  }

  /** A group came back from the dead; what a bound made it pass over is lost to it. */
  resurrected(where: InGroup, resurrected: Resurrected): void {
    this.emit('group-resurrected', { ...where, ...resurrected })
    const { skipped } = resurrected
    if (skipped > 0) this.emit('messages-lost', { ...where, count: skipped, reason: 'resurrection' })
  }

  #count(name: EventName, event: Events[EventName]): void {
    const counted = COUNTED_AS[name]
    if (counted === undefined) return
    const { topic, group, count = 1, duplicates = 0, error } = event as AnyEvent
    this.metrics.add(counted, count, topic, group)
    this.metrics.add('duplicates', duplicates, topic)
    if (name === 'job-ended' && error !== undefined) this.metrics.add('jobsFailed', 1)
  }

  #log(name: EventName, event: Events[EventName]): void {
    const { error, reason, ...fields } = event as AnyEvent
    const err = error ?? reason
    const [level, text] = (err === undefined ? undefined : FAILED_AS[name]) ?? LOGGED_AS[name]
    this.logger[level](err === undefined ? fields : { ...fields, err }, text)
  }
}

type AnyEvent = {
  readonly topic?: string
  readonly group?: string
  readonly count?: number
  readonly duplicates?: number
  readonly error?: Error
  readonly reason?: Error
}

const COUNTED_AS: { readonly [name in EventName]?: Counted } = {
  published: 'published',
  received: 'received',
  acked: 'acked',
  nacked: 'nacked',
  retried: 'retried',
  released: 'released',
  filtered: 'filtered',
  'dead-lettered': 'deadLettered',
  stale: 'staleRejected',
  'taken-over': 'takenOver',
  'claim-conflict': 'claimConflicts',
  error: 'errors',
  'group-dead': 'deadGroups',
  'group-resurrected': 'resurrected',
  'messages-lost': 'lost',
  'clean-up': 'cleaned',
  'job-ended': 'jobsRun',
}

/** INFO for the life cycle, WARN for what heals itself, ERROR for what needs a person, DEBUG for the rest. */
const LOGGED_AS: { readonly [name in EventName]: readonly [level: keyof Logger, text: string] } = {
  published: ['debug', 'published'],
  received: ['debug', 'received'],
  acked: ['debug', 'acked'],
  nacked: ['debug', 'a handler failed'],
  retried: ['debug', 'tried again'],
  released: ['debug', 'given back'],
  filtered: ['debug', 'filtered'],
  'claim-conflict': ['debug', 'claim conflict'],
  'group-started': ['info', 'group started'],
  'group-paused': ['info', 'group paused'],
  'group-resumed': ['info', 'group resumed'],
  'group-stopped': ['info', 'group stopped'],
  'group-resurrected': ['info', 'group resurrected'],
  'group-cancelled': ['info', 'group cancelled'],
  'backfill-progress': ['debug', 'backfill under way'],
  'backfill-ended': ['info', 'backfill ended'],
  'job-ended': ['debug', 'job ended'],
  'clean-up': ['debug', 'messages cleaned up'],
  'group-missed': ['warn', 'a group missed its heartbeats'],
  'group-dead': ['error', 'a group is dead: nothing waits for it any more'],
  'messages-lost': ['error', 'messages are lost to a group'],
  'topic-unsubscribed': ['warn', 'nobody is subscribed to a topic that keeps messages'],
  zombie: ['warn', 'a group has messages waiting and does not move'],
  'group-removed': ['info', 'group removed'],
  'group-reset': ['info', 'group moved to another position'],
  'topic-deleted': ['info', 'topic deleted'],
  redriven: ['info', 'dead letters brought back'],
  discarded: ['info', 'dead letters discarded'],
  stale: ['warn', 'stale settlement rejected'],
  'taken-over': ['warn', 'expired leases taken over'],
  error: ['warn', 'failed; trying again'],
  'dead-lettered': ['error', 'messages moved to the dead letters'],
}

/** The same, where it happened because something failed. */
const FAILED_AS: { readonly [name in EventName]?: readonly [level: keyof Logger, text: string] } = {
  'group-stopped': ['error', 'the group was stopped'],
  'backfill-ended': ['error', 'a backfill failed'],
  'job-ended': ['warn', 'a job failed; it runs again at its next turn'],
}
